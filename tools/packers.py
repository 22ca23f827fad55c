"""Record the tensors that quantization libraries store for a matrix, as the fixture of the layouts.

`python -m tools.packers` writes tests/formats/packed.json: for random shapes in each format, the config's
quantization, and the dtype and shape of every tensor in a file. It needs bitsandbytes, torchao, hqq, mlx,
compressed-tensors, modelopt, gptqmodel and autoawq; a library that is not installed keeps its records.
"""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

PATH = Path(__file__).parents[1] / "tests" / "formats" / "packed.json"
Tensors = dict[str, list[Any]]  # name -> dtype, then the shape
Packed = tuple[dict[str, Any], int, int, str, Tensors]  # config, rows, columns, dtype of the model, tensors
_SHAPES = 3  # of each format
_UNKNOWN = b'"nested_offset": '  # a text that ends in digits of a value


def random_shapes(rows: int = 1, columns: int = 1) -> Iterator[tuple[int, int, str]]:
    """Yield random rows and columns, multiples of the arguments, and a dtype of the model."""
    chosen = random.Random(f"{rows} {columns}")
    for dtype in ("bfloat16", "float16", "float32")[:_SHAPES]:
        yield (
            rows * chosen.randint(1, 400 // rows + 1),
            columns * chosen.randint(1, 400 // columns + 1),
            dtype,
        )


def _described(found: dict[str, Any]) -> Tensors:
    tensors = {}
    for name, tensor in found.items():
        shape = [*tensor.shape]
        if "bitsandbytes__" in name and (text := bytes(tensor.tolist())).find(_UNKNOWN) > 0:
            shape = [text.index(_UNKNOWN) + len(_UNKNOWN) + 1]
        tensors[name] = [str(tensor.dtype).split(".")[-1], *shape]
    return tensors


def _linear(rows: int, columns: int, dtype: str) -> Any:
    import torch

    return torch.nn.Linear(columns, rows, bias=False).to(getattr(torch, dtype))


def pack_bitsandbytes() -> Iterator[Packed]:
    from bitsandbytes.nn import Linear4bit, Linear8bitLt

    for kind, double in (("nf4", False), ("nf4", True), ("fp4", False), ("fp4", True)):
        for rows, columns, dtype in random_shapes():
            made = Linear4bit(columns, rows, bias=False, compress_statistics=double, quant_type=kind)
            made.weight.data = _linear(rows, columns, dtype).weight.data
            config = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind}
            config["bnb_4bit_use_double_quant"] = double
            yield config, rows, columns, dtype, _described(made.to("cpu").state_dict())
    for rows, columns, dtype in random_shapes():
        made = Linear8bitLt(columns, rows, bias=False, has_fp16_weights=False)
        made.weight.data = _linear(rows, columns, dtype).weight.data
        stored = _described(made.to("cpu").state_dict())
        yield {"quant_method": "bitsandbytes", "load_in_8bit": True}, rows, columns, dtype, stored


def pack_torchao() -> Iterator[Packed]:
    import torch
    import torchao.quantization as library
    from torchao.core.config import config_to_dict
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

    tiled = "torchao.quantization.quantize_.workflows.int4.int4_tile_packed_to_4d_tensor"
    grains = library.PerRow(), library.PerTensor(), library.PerGroup(32)
    makers = (library.Int8WeightOnlyConfig, library.Float8WeightOnlyConfig)
    configs = [maker(granularity=one) for maker in makers for one in grains]
    for made in (*configs, library.Int8DynamicActivationInt8WeightConfig()):
        for rows, columns, dtype in random_shapes(1, 32):
            model = torch.nn.Sequential(_linear(rows, columns, dtype))
            library.quantize_(model, made)
            config = {"quant_method": "torchao", "quant_type": {"default": config_to_dict(made)}}
            stored = flatten_tensor_state_dict(model.state_dict())[0]
            yield config, rows, columns, dtype, _described(stored)
    for group in (32, 128):
        made = library.Int4WeightOnlyConfig(group_size=group, int4_packing_format="tile_packed_to_4d")
        config = {"quant_method": "torchao", "quant_type": {"default": config_to_dict(made)}}
        for rows, columns, _ in random_shapes(1, group):
            weight = torch.empty(rows, columns, dtype=torch.bfloat16, device="meta")
            with patch("torch.cuda.get_device_capability", return_value=(9, 0)):  # it works on meta, too
                found = importlib.import_module(tiled).Int4TilePackedTo4dTensor.from_hp(weight, [1, group])
            stored = {name: getattr(found, name) for name in ("qdata", "scale_and_zero")}
            yield config, rows, columns, "bfloat16", _described(stored)


def pack_hqq() -> Iterator[Packed]:
    import torch
    from hqq.core.quantize import BaseQuantizeConfig, HQQLinear

    for bits, group, axis in (
        (8, 64, 1),
        (4, 64, 1),
        (4, 32, 0),
        (2, 16, 1),
        (1, 64, 1),
        (4, None, 1),
        (8, None, 0),
    ):
        for rows, columns, dtype in random_shapes(64, 64):
            config = BaseQuantizeConfig(nbits=bits, group_size=group, axis=axis)
            stated = json.loads(json.dumps({"quant_method": "hqq", "quant_config": config}))
            sizes = {"compute_dtype": getattr(torch, dtype), "device": "cpu"}
            made = HQQLinear(_linear(rows, columns, dtype), config, **sizes)
            yield stated, rows, columns, dtype, _described(made.state_dict())


def pack_mlx() -> Iterator[Packed]:
    import mlx.core as mx
    from mlx import nn
    from mlx.utils import tree_flatten

    modes = [("affine", bits, group) for bits in (2, 3, 4, 5, 6, 8) for group in (32, 64, 128)]
    for mode, bits, group in (*modes, ("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)):
        for rows, columns, dtype in random_shapes(1, max(32, group)):
            model = nn.Sequential(nn.Linear(columns, rows, bias=False))
            model.set_dtype(getattr(mx, dtype))
            nn.quantize(model, group_size=group, bits=bits, mode=mode)
            config = {"quant_method": "mlx", "bits": bits, "group_size": group, "mode": mode}
            yield config, rows, columns, dtype, _described(dict(tree_flatten(model.parameters())))


def pack_gptqmodel() -> Iterator[Packed]:
    import torch
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear

    for bits in (2, 3, 4, 8):
        for group in (-1, 32, 128):
            for rows, columns, _ in random_shapes(32, 32):
                sizes = {"in_features": columns, "out_features": rows, "bits": bits, "group_size": group}
                made = TorchLinear(sym=True, desc_act=False, bias=False, register_buffers=False, **sizes)
                size = columns if group == -1 else group
                scales = torch.ones(rows, -(-columns // size))
                index = (torch.arange(columns) // size).int()
                made.pack(_linear(rows, columns, "float32"), scales, scales, index)
                config = {"quant_method": "gptq", "bits": bits, "group_size": group}
                yield config, rows, columns, "float16", _described(made.state_dict())


def pack_autoawq() -> Iterator[Packed]:
    modules = {"gemm": "WQLinear_GEMM", "gemv": "WQLinear_GEMV", "gemv_fast": "WQLinear_GEMVFast"}
    for name, cls in modules.items():
        made = getattr(importlib.import_module(f"awq.modules.linear.{name}"), cls)
        for group in (-1, 32, 64, 128):
            for rows, columns, _ in random_shapes(8, 128):
                stored = made(4, group, columns, rows, False, "cpu").state_dict()
                config = {"quant_method": "awq", "bits": 4, "group_size": group, "version": name}
                yield config, rows, columns, "float16", _described(stored)


def pack_compressed_tensors() -> Iterator[Packed]:
    import torch
    from compressed_tensors import ModelCompressor
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config

    floats = {"type": "float", "symmetric": True}
    forms: list[tuple[str, dict[str, Any]]] = [
        *(("pack-quantized", _weights(bits, "int", strategy, symmetric=symmetric))
          for bits in range(1, 9) for strategy in ("group", "channel", "tensor")
          for symmetric in (True, False)),
        *((f"{name}-quantized", _weights(8, kind, strategy, symmetric=symmetric))
          for name, kind in (("int", "int"), ("float", "float"), ("naive", "int"))
          for strategy in ("tensor", "channel", "group", "block") for symmetric in (True, False)),
        ("nvfp4-pack-quantized", {"num_bits": 4, "strategy": "tensor_group", "group_size": 16, **floats}),
        *((f"mxfp{bits}-{end}quantized", {"num_bits": bits, "strategy": "group", "group_size": 32, **floats,
           "scale_dtype": "torch.uint8"}) for bits, end in ((4, "pack-"), (6, "pack-"), (8, ""))),
    ]  # fmt: skip
    for form, weights in forms:
        for rows, columns, dtype in random_shapes(1, weights.get("group_size") or 1):
            group = {"targets": ["Linear"], "weights": weights, "format": form}
            model = torch.nn.Sequential(_linear(rows, columns, dtype))
            config = QuantizationConfig(config_groups={"group_0": group}, quantization_status="initialized")
            apply_quantization_config(model, config)
            for name, one in model.named_parameters():
                one.data.fill_(1 if "scale" in name else 0)
            ModelCompressor.from_pretrained_model(model).compress_model(model)
            stated = {
                "quant_method": "compressed-tensors",
                "format": form,
                "config_groups": {"group_0": group},
            }
            stated["version"] = version("compressed-tensors")
            yield stated, rows, columns, dtype, _described(model.state_dict())


def pack_modelopt() -> Iterator[Packed]:
    import modelopt.torch.quantization as library
    import torch
    from modelopt.torch.export import export_hf_checkpoint
    from safetensors.torch import load_file
    from transformers import LlamaConfig, LlamaForCausalLM

    names = (
        "FP8_DEFAULT FP8_PER_CHANNEL_PER_TOKEN FP8_2D_BLOCKWISE_WEIGHT_ONLY MXFP8_DEFAULT INT8_WEIGHT_ONLY "
    )
    names += "MXFP4_DEFAULT NVFP4_DEFAULT W4A16_NVFP4 NVFP4_MLP_WEIGHT_ONLY W4A8_MXFP4_FP8 W4A8_NVFP4_FP8"
    for name in names.split():
        for rows, columns, _ in random_shapes(32, 64):
            sizes = {"hidden_size": columns, "intermediate_size": rows, "head_dim": columns // 2}
            sizes |= {"num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 64}
            config = LlamaConfig(architectures=["LlamaForCausalLM"], dtype="bfloat16", **sizes)
            model, tokens = LlamaForCausalLM(config).to(torch.bfloat16), torch.arange(32)[None]
            library.quantize(model, getattr(library, f"{name}_CFG"), lambda one, given=tokens: one(given))
            with TemporaryDirectory() as folder:
                export_hf_checkpoint(model, export_dir=folder)
                stated = json.loads((Path(folder) / "config.json").read_text())["quantization_config"]
                stored = load_file(Path(folder) / "model.safetensors")
            of_layer = {key: one for key, one in stored.items() if ".up_proj." in key}
            yield {**stated, "ignore": []}, rows, columns, "bfloat16", _described(of_layer)


def _weights(bits: int, kind: str, strategy: str, symmetric: bool) -> dict[str, Any]:
    found = {"num_bits": bits, "type": kind, "strategy": strategy, "symmetric": symmetric, "dynamic": False}
    sizes: dict[str, dict[str, Any]] = {"group": {"group_size": 32}, "block": {"block_structure": [128, 128]}}
    return found | sizes.get(strategy, {})


PACKERS: dict[str, Callable[[], Iterator[Packed]]] = {
    "bitsandbytes": pack_bitsandbytes,
    "torchao": pack_torchao,
    "hqq": pack_hqq,
    "mlx": pack_mlx,
    "gptqmodel": pack_gptqmodel,
    "autoawq": pack_autoawq,
    "compressed-tensors": pack_compressed_tensors,
    "nvidia-modelopt": pack_modelopt,
}


def main() -> None:
    """Write the records of each installed library, and keep those of the others."""
    recorded = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    for name, pack in PACKERS.items():
        try:
            found = [list(one) for one in pack()]
        except ImportError as error:
            print(f"{name}: {error}")
            continue
        recorded[name] = {"version": version(name), "records": found}
    lines = [
        f'"{name}": {{"version": "{one["version"]}", "records": [\n  '
        + ",\n  ".join(map(json.dumps, one["records"]))
        + "\n]}"
        for name, one in recorded.items()
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
