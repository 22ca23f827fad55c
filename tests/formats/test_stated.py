"""Quantizations that configs state are counted or refused, whatever their keys say."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from layouts import LLAMA, MIXTRAL, NORMS, SMALL, STORED, TABLE, gptq, total

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError
from archspec.formats.methods import METHODS
from tools.fuzz.configs import QUANTIZATIONS, mutate

CASES = Path(__file__).parent / "cases"
NVIDIA = "nvidia--Llama-3.1-70B-Instruct-FP8"
Captured = pytest.CaptureFixture[str]
mlx = STORED["mlx"]
PUBLISHED = [
    ("deepseek-ai--DeepSeek-V4-Flash.json", 155_926_429_998),
    ("mlx-qwen3-8b-4bit-quantization-only.json", 4_607_731_712),
    ("nvidia--Llama-3.1-70B-Instruct-FP8", 72_656_371_712 + 560 * 8 + 2 * 80 * 4),
    ("llama-3.3-70b-fp8-dynamic-ct.json", 72_656_371_712 + 2 * 80 * (2 * 8192 + 2 * 1024 + 2 * 28672 + 8192)),
    ("gpt-neox-20b-4bit.json", 11_528_621_760 + 44 * (153 + 152 + 153 + 153 - 4 * 4)),
]


@pytest.mark.parametrize(("file", "expected"), PUBLISHED, ids=[file for file, _ in PUBLISHED])
def test_published_configs(file: str, expected: int) -> None:
    model = archspec.load(CASES / file)
    assert model.weights().bytes == model.params_bytes() == model.counts().bytes == expected
    assert model.counts("bf16").bytes == 2 * model.params


def test_a_file_next_to_the_config_is_read(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    stated_file = tmp_path / "hf_quant_config.json"
    stated = {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]}
    stated_file.write_text(json.dumps({"quantization": stated}))
    for source in (tmp_path, tmp_path / "config.json"):
        assert archspec.load(source).params_bytes() == total("dense", STORED["nvfp4"], 2 * TABLE + NORMS)
    stated_file.write_text('{"quantization":\n {"quant_algo": "W4A8_AWQ"}}')
    assert main(["memory", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "hf_quant_config.json:2:3" in printed.err and "^^^" in printed.err and not printed.out
    assert archspec.load(tmp_path).counts().bytes is None
    stated_file.write_text('{"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}}')
    scales = 2 * 2 * 4  # float32, of the keys and values of each layer
    assert archspec.load(tmp_path).params_bytes() == 2 * archspec.load(LLAMA).params + scales
    stated_file.unlink()
    (tmp_path / "quantize_config.json").write_text('{"bits": 4, "group_size": 128, "desc_act": true}')
    assert archspec.load(tmp_path).params_bytes() == total("dense", gptq, 2 * TABLE + NORMS)


def arguments(bits: int, kind: str, strategy: str, **more: Any) -> dict[str, Any]:
    return {"num_bits": bits, "type": kind, "strategy": strategy, "symmetric": True, "dynamic": False, **more}


# Of a weight of 384 x 256 in bfloat16: measured with compressed-tensors 0.20.0, compress_model on a Linear.
COMPRESSED = [
    ("float-quantized", arguments(8, "float", "channel"), None, 384 * 256 + 384 * 2),
    ("float-quantized", arguments(8, "float", "tensor"), arguments(8, "float", "tensor"), 384 * 256 + 2 + 2),
    ("float-quantized", arguments(8, "float", "block", block_structure=[128, 128]), None, 384 * 256 + 6 * 2),
    ("int-quantized", arguments(8, "int", "channel"), None, 384 * 256 + 384 * 2),
    ("int-quantized", arguments(8, "int", "channel", symmetric=False), None, 384 * 256 + 384 * 3),
    ("naive-quantized", arguments(8, "float", "tensor"), None, 384 * 256 + 2),
    ("pack-quantized", arguments(4, "int", "group", group_size=128), None, 384 * 128 + 384 * 2 * 2 + 16),
    ("pack-quantized", arguments(3, "int", "group", group_size=128), None, 384 * 96 + 384 * 2 * 2 + 16),
    ("pack-quantized", arguments(8, "int", "channel"), None, 384 * 256 + 384 * 2 + 16),
    (
        "pack-quantized",
        arguments(4, "int", "group", group_size=128, symmetric=False),
        *(None, 384 * 128 + 384 * 2 * 2 + 48 * 2 * 4 + 16),
    ),
    ("nvfp4-pack-quantized", arguments(4, "float", "tensor_group", group_size=16), None, 384 * 144 + 4),
    (
        "nvfp4-pack-quantized",
        arguments(4, "float", "tensor_group", group_size=16),
        *(arguments(4, "float", "tensor_group", group_size=16, dynamic="local"), 384 * 144 + 8),
    ),
    ("mxfp4-pack-quantized", arguments(4, "float", "group", group_size=32), None, 384 * 136),
]


@pytest.mark.parametrize(("form", "weights", "activations", "expected"), COMPRESSED)
def test_compressed_tensors(form: str, weights: Any, activations: Any, expected: int) -> None:
    """Only the up projection of one layer is a target."""
    group = {"targets": ["re:.*layers.0.*up_proj"], "weights": weights, "input_activations": activations}
    given = {"quant_method": "compressed-tensors", "format": form, "config_groups": {"group_0": group}}
    given["version"] = "0.20.0"
    found = archspec.load({**LLAMA, "quantization_config": given}).weights()
    assert found.table[0].elements == 384 * 256 and found.table[0].bytes == expected


def test_compressed_tensors_of_experts_and_ignored_modules() -> None:
    group = {"targets": ["Linear"], "weights": arguments(8, "float", "channel")}
    given = {"quant_method": "compressed-tensors", "format": "float-quantized"}
    given |= {"config_groups": {"group_0": group}, "ignore": ["lm_head", "re:.*self_attn.*", "re:nothing"]}
    found = archspec.load({**MIXTRAL, "quantization_config": given}).weights()
    assert found.table[0].bytes == 2 * 4 * (3 * 256 * 384 + 2 * (2 * 384 + 256))
    assert found.notes == [
        "'re:nothing' is listed as unquantized, but matches no module of MixtralForCausalLM"
    ]


def test_a_quantization_of_a_config_is_never_ignored() -> None:
    """All keys that hold a quantization, and keys next to them that change bytes."""
    affine = {"group_size": 64, "bits": 4}
    both = {**LLAMA, "quantization": affine, "quantization_config": affine}
    assert archspec.load(both).params_bytes() == total("dense", mlx, NORMS) + 2 * mlx(512, 256)
    refused: list[dict[str, Any]] = [
        {**LLAMA, "quantization": affine, "quantization_config": {"group_size": 64, "bits": 8}},
        {**LLAMA, "quantization": {"bits": 4, "mode": "nf4"}},
        {**LLAMA, "quantization": {"bits": 4, "other": 3}},
        {**LLAMA, "quantization_config": "fp8"},
        {**LLAMA, "compression_config": {"config_groups": {}}},
        {**LLAMA, "expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8"}},
        {**LLAMA, "vision_config": {"quantization_config": {"quant_method": "fp8"}}},
        {**LLAMA, "load_in_4bit": True},
        {**LLAMA, "quant_config": {"bits": 4}},
    ]
    for config in refused:
        for one in (config, {key: value for key, value in config.items() if key != "dtype"}):
            assert archspec.load(one).counts().bytes is None, one
            assert archspec.load(one).weights("bf16").bytes == 2 * archspec.load(one).params
            with pytest.raises(ArchspecError):
                archspec.load(one).params_bytes()


NVFP4 = {"num_bits": 4, "type": "float", "group_size": 16}


@pytest.mark.parametrize(
    "changed",
    [
        {"weights": {**NVFP4, "num_bits": 8}},
        {"weights": {**NVFP4, "type": "int"}},
        {"weights": {**NVFP4, "group_size": 32}},
        {"weights": NVFP4, "targets": ["Embedding"]},
        {"targets": ["Linear"]},
        "Linear",
    ],
)
def test_groups_of_modelopt_agree_with_its_algorithm_or_are_refused(changed: Any) -> None:
    stated = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    same = {"weights": {**NVFP4, "dynamic": False}, "targets": ["Linear"]}
    plain = archspec.load({**LLAMA, "quantization_config": stated}).params_bytes()
    groups = {**stated, "config_groups": {"group_0": same}}
    assert archspec.load({**LLAMA, "quantization_config": groups}).params_bytes() == plain
    other = archspec.load({**LLAMA, "quantization_config": {**stated, "config_groups": {"group_0": changed}}})
    assert other.counts().bytes is None
    with pytest.raises(ArchspecError, match="config_groups"):
        other.params_bytes()


FP8_CACHE = {"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True, "dynamic": False}
CHANNELS = {"group_0": {"targets": ["Linear"], "weights": arguments(8, "float", "channel")}}


@pytest.mark.parametrize(
    ("given", "key", "value", "element"),
    [
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "kv_cache_quant_algo", "FP8", 4),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "kv_cache_scheme", FP8_CACHE, 4),
        ({"quant_method": "compressed-tensors"}, "kv_cache_scheme", FP8_CACHE, 2),
        ({"quant_method": "compressed-tensors"}, "kv_cache_scheme", {**FP8_CACHE, "dynamic": True}, 0),
    ],
)
def test_scales_of_a_quantized_cache(given: dict[str, Any], key: str, value: Any, element: int) -> None:
    """As nvidia-modelopt 0.47.0 exports them; compressed-tensors 0.20.1 has them in the model's dtype."""
    if given["quant_method"] != "modelopt":
        given = {**given, "format": "float-quantized", "config_groups": CHANNELS}
    plain = archspec.load({**LLAMA, "quantization_config": given}).params_bytes()
    found = archspec.load({**LLAMA, "quantization_config": {**given, key: value}}).params_bytes()
    assert found - plain == 2 * 2 * element
    phi = {**SMALL, "model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "pad_token_id": 0}
    if element:  # its projection is fused
        with pytest.raises(ArchspecError, match=r"scales of a quantized KV cache of Phi3"):
            archspec.load({**phi, "quantization_config": {**given, key: value}}).params_bytes()


def test_ints_that_compressed_tensors_packed_in_another_way_before_are_refused() -> None:
    group = {"targets": ["Linear"], "weights": arguments(3, "int", "channel")}
    given = {"quant_method": "compressed-tensors", "format": "pack-quantized"}
    given |= {"config_groups": {"group_0": group}, "ignore": ["lm_head"]}
    model = archspec.load({**LLAMA, "quantization_config": {**given, "version": "0.18.0"}})
    assert model.weights().table[0].bytes < 2 * model.params
    for version in ("0.17.1", "0.9.4", None):
        with pytest.raises(ArchspecError, match=r"before version 0.18 is not supported"):
            archspec.load({**LLAMA, "quantization_config": {**given, "version": version}}).params_bytes()


def test_tags_of_hqq_and_names_of_torchao() -> None:
    """HQQ compares paths without layers; torchao's quantizer compares names of parameters."""
    weights = {"nbits": 4, "group_size": 64, "axis": 1}
    given = {"quant_method": "hqq", "quant_config": {"weight_quant_params": weights}}
    skipped = archspec.load(
        {**LLAMA, "quantization_config": {**given, "skip_modules": ["lm_head", "mlp.up_proj"]}}
    ).weights()
    assert skipped.table[0].elements == 2 * (2 * 256 * 256 + 2 * 128 * 256 + 2 * 384 * 256)
    config = {"_type": "Int8WeightOnlyConfig", "_version": 2, "_data": {"granularity": None}}
    given = {"quant_method": "torchao", "quant_type": {"default": config}}
    for names, elements in ((["q_proj"], TABLE), (["model.layers.0"], TABLE)):
        stated = {**given, "modules_to_not_convert": names}
        found = archspec.load({**LLAMA, "quantization_config": stated}).weights().table[0].elements
        layers = 1 if names[0].startswith("model") else 2
        assert found == layers * (2 * 256 * 256 + 2 * 128 * 256 + 3 * 384 * 256) + elements


def test_an_empty_quantization_is_ignored() -> None:
    empty = archspec.load({**LLAMA, "quantization_config": {}})
    assert empty.notes == archspec.load(LLAMA).notes
    assert empty.params_bytes() == 2 * empty.params


def test_modules_that_mlx_quantizes_in_another_way() -> None:
    affine: dict[str, Any] = {"group_size": 64, "bits": 4, "lm_head": False}
    affine["model.embed_tokens"] = {"group_size": 64, "bits": 8}
    found = archspec.load({**LLAMA, "quantization": affine}).params_bytes()
    assert found == total("dense", mlx, NORMS) + 2 * TABLE + (TABLE + TABLE // 64 * 4)


def test_sweeps_and_solve_refuse_bytes_of_quantized_weights() -> None:
    config = {**LLAMA, "quantization_config": {"load_in_4bit": True}}
    with pytest.raises(ArchspecError, match="not supported in sweeps"):
        archspec.sweep(config, set={"num_hidden_layers": [1, 2]}, columns="bytes")
    with pytest.raises(ArchspecError, match="not supported in solve"):
        archspec.solve(config, ["num_hidden_layers"], bytes="1MB")
    assert archspec.sweep(config, set={"num_hidden_layers": [1, 2]}, columns="bytes", dtype="bf16")
    assert archspec.solve(config, ["num_hidden_layers"], bytes="8MB", dtype="bf16")


@pytest.mark.parametrize(
    ("file", "path", "printed"),
    [
        ("gpt-neox-20b-4bit.json", "quantization_config", "^^^"),
        ("mlx-qwen3-8b-4bit-quantization-only.json", "quantization", "--set quantization=null"),
        (NVIDIA, "", "hf_quant_config.json"),
    ],
)
def test_training_a_quantized_base_is_refused(file: str, path: str, printed: str, capsys: Captured) -> None:
    line = ["memory", str(CASES / file), "--train", "--tokens", "8"]
    assert main(line) == 2
    out, err = capsys.readouterr()
    assert "training a quantized model" in err and printed in err and not out
    if path:
        assert main([*line, "--set", f"{path}=null"]) == 0
        note = capsys.readouterr().out.splitlines()[-1]
        assert ("gelu_fast" in note and "{" not in note) or path == "quantization"


def test_a_quantized_cache_is_noted(capsys: Captured) -> None:
    folder = str(CASES / NVIDIA)
    assert main(["cache", folder, "--tokens", "8"]) == 0
    assert "kv_cache_quant_algo stores the KV cache in FP8" in capsys.readouterr().out
    assert main(["cache", folder, "--tokens", "8", "--dtype", "fp8"]) == 0
    assert "note" not in capsys.readouterr().out


def test_every_report_notes_an_assumed_dtype(capsys: Captured) -> None:
    """A dtype in the config or from the option removes the note."""
    bare = {key: value for key, value in LLAMA.items() if key != "dtype"}
    model, stated, grid = archspec.load(bare), archspec.load(LLAMA), {"num_hidden_layers": [1, 2]}
    quantized = archspec.load({**bare, "quantization_config": {"load_in_4bit": True}})
    fixed = quantized.with_fields(dtype="bfloat16").counts()
    noted = [
        *(model.memory(tokens=8), model.cache(tokens=8), archspec.table([bare], columns="params,bytes")),
        *(archspec.sweep(bare, set=grid, columns=one) for one in ("bytes", "cache_bytes")),
        archspec.solve(bare, ["num_hidden_layers"], bytes="8MB"),
    ]
    silent = [
        *(stated.memory(tokens=8), stated.cache(tokens=8), model.memory(tokens=8, dtype="bf16"), fixed),
        *(archspec.table([bare], columns="params"), archspec.sweep(bare, set=grid, columns="params")),
    ]
    assert all(any("no dtype" in note for note in one.notes) for one in noted)
    assert not any("no dtype" in note for one in silent for note in one.notes)
    assert "dtype='bf16'" in model.memory(tokens=8).notes[0] and fixed.dtype == "bfloat16"
    assert any("set={'dtype': 'bfloat16'}" in note for note in quantized.counts().notes)


@pytest.mark.parametrize(("key", "value"), QUANTIZATIONS, ids=lambda one: str(one)[:60])
def test_mutated_quantizations_are_counted_or_refused(key: str, value: dict[str, Any]) -> None:
    """None is ignored: bytes of full precision are never reported for a config that states a quantization."""
    for seed in range(40):
        chosen = random.Random(seed)
        raw = deepcopy(chosen.choice((LLAMA, MIXTRAL)))
        stated = deepcopy(value)
        for _ in range(seed % 4):
            mutate(stated, chosen)
        raw[key] = stated
        model = archspec.load(raw)
        counts = model.counts()
        try:
            weights = model.weights()
            table = weights.table
        except ArchspecError:
            assert counts.bytes is None, stated
            continue
        if weights.scheme is None:  # the keys left say nothing of weights
            assert not stated.get("quant_algo") and stated.get("quant_method") in (None, "modelopt"), stated
            assert stated == {} or stated.get("quant_method") == "modelopt"
        else:
            assert table[0].elements > 0 or table[0].format == "scales of the KV cache"
            assert counts.bytes == weights.bytes != 2 * model.params


@pytest.mark.reference
def test_every_method_of_transformers_is_counted_or_refused() -> None:
    from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING

    for method in [*AUTO_QUANTIZATION_CONFIG_MAPPING, "a new one"]:
        model = archspec.load({**LLAMA, "quantization_config": {"quant_method": method, "bits": 4}})
        if method in METHODS and model.counts().bytes is not None:
            assert model.weights().table[0].elements > 0
        else:
            assert "bytes are not reported" in model.counts().notes[-1]
            with pytest.raises(ArchspecError):
                model.params_bytes()


@pytest.mark.reference
def test_every_key_that_transformers_writes_is_known() -> None:
    import transformers

    written = [
        transformers.BitsAndBytesConfig(load_in_8bit=True),
        transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True),
        transformers.GPTQConfig(bits=4),
        transformers.AwqConfig(),
        transformers.FineGrainedFP8Config(),
    ]
    for one in written:
        given = {key: getattr(value, "value", value) for key, value in one.to_dict().items()}
        found = archspec.load({**LLAMA, "quantization_config": given}).weights()
        assert found.table[0].elements == 2 * (2 * 256 * 256 + 2 * 128 * 256 + 3 * 256 * 384)


@pytest.mark.reference
def test_deepseek_v4_agrees_with_transformers() -> None:
    """A narrow copy with experts in fp4 and fp8, with both formats of scales."""
    import torch
    import transformers
    from transformers.integrations.finegrained_fp8 import replace_with_fp8_linear
    from transformers.quantizers.base import HfQuantizer

    raw = json.loads((CASES / "deepseek-ai--DeepSeek-V4-Flash.json").read_text(encoding="utf-8"))
    for dtype in ("fp4", "fp8"):
        for scale in ("ue8m0", "float"):
            raw |= {"n_routed_experts": 8, "moe_intermediate_size": 192, "vocab_size": 64}
            raw["expert_dtype"] = dtype
            raw["quantization_config"] = {**raw["quantization_config"], "scale_fmt": scale}
            config = transformers.AutoConfig.for_model(**raw)
            with torch.device("meta"):
                model = transformers.DeepseekV4ForCausalLM(config).to(torch.bfloat16)
            left = HfQuantizer.get_modules_to_not_convert(model, None, model._keep_in_fp32_modules)
            quantization = transformers.FineGrainedFP8Config.from_dict(config.quantization_config)
            replace_with_fp8_linear(model, left, quantization)
            assert archspec.load(raw).params_bytes() == sum(one.nbytes for one in model.parameters())
