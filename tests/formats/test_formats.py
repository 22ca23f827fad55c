"""Weight formats by name and by config: bytes against transformers' quantizers and the tools' layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError
from archspec.formats.scheme import FORMATS, NAMES, SCHEMES, find_format

CASES = Path(__file__).parent / "cases"
Captured = pytest.CaptureFixture[str]
SMALL: dict[str, Any] = {
    "dtype": "bfloat16",
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 384,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
}
LLAMA = {**SMALL, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
TIED = {**LLAMA, "tie_word_embeddings": True}
MIXTRAL = {**SMALL, "model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 4}
GPT2 = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "dtype": "bfloat16",
    "vocab_size": 512,
    "n_embd": 256,
    "n_head": 4,
    "n_layer": 2,
    "n_positions": 64,
}
MATRICES = {  # outputs and inputs of the matrices of a layer, and how many there are
    "attention": [(256, 256, 2), (128, 256, 2)],
    "mlp": [(384, 256, 2), (256, 384, 1)],
    "gpt2": [(768, 256, 1), (256, 256, 1), (1024, 256, 1), (256, 1024, 1)],
}
ROUTER, NORMS, TABLE = 4 * 256, 5 * 256, 512 * 256  # elements, of both layers in the case of norms


MATRICES["dense"] = MATRICES["attention"] + MATRICES["mlp"]
MATRICES["experts"] = MATRICES["attention"] + [(rows, columns, 4 * n) for rows, columns, n in MATRICES["mlp"]]


def total(kind: str, one: Any, rest: int, element: int = 2) -> int:
    """Two layers whose matrices take ``one(rows, columns)`` bytes, and ``rest`` other elements."""
    return 2 * sum(count * one(rows, columns) for rows, columns, count in MATRICES[kind]) + element * rest


def gptq(rows: int, columns: int) -> int:
    packed, groups, index = columns // 8 * rows * 4, columns // 128, columns * 4
    return packed + groups * (rows // 8) * 4 + groups * rows * 2 + index  # zeros, scales


def awq(rows: int, columns: int) -> int:
    return gptq(rows, columns) - 4 * columns


def fp8(rows: int, columns: int) -> int:
    return rows * columns + 4 * -(-rows // 128) * -(-columns // 128)


def nvfp4(rows: int, columns: int) -> int:
    return rows * columns // 2 + rows * columns // 16 + 4 + 4


def nf4(rows: int, columns: int) -> int:
    return rows * columns // 2 + rows * columns // 64 * 4 + 16 * 4


def int8(rows: int, columns: int) -> int:
    return rows * columns + 4 * rows


def q8_0(rows: int, columns: int) -> int:
    return rows * columns // 32 * 34


def mlx(rows: int, columns: int) -> int:
    return rows * columns // 2 + rows * columns // 64 * 4


@pytest.mark.parametrize(("name", "one"), [("gptq", gptq), ("awq", awq), ("nvfp4", nvfp4), ("fp8", fp8)])
def test_formats_that_quantize_experts(name: str, one: Any) -> None:
    """Dense, tied and with experts: the head, embeddings, norms and routers stay in the model's dtype."""
    llama = archspec.load(LLAMA).weights(name)
    assert llama.bytes == total("dense", one, 2 * TABLE + NORMS) and not llama.notes
    assert archspec.load(TIED).weights(name).bytes == total("dense", one, TABLE + NORMS)
    mixtral = archspec.load(MIXTRAL).weights(name)
    fused = total("experts", one, 2 * TABLE + NORMS + 2 * ROUTER)
    assert mixtral.bytes == fused and not mixtral.notes


@pytest.mark.parametrize(("name", "one"), [("nf4", nf4), ("fp4", nf4), ("int8", int8)])
def test_bitsandbytes_notes_that_experts_stay_unquantized(name: str, one: Any) -> None:
    assert archspec.load(LLAMA).weights(name).bytes == total("dense", one, 2 * TABLE + NORMS)
    assert archspec.load(TIED).weights(name).bytes == total("dense", one, TABLE + NORMS)
    mixtral = archspec.load(MIXTRAL).weights(name)
    experts = 2 * 4 * 3 * 256 * 384
    assert mixtral.bytes == total("attention", one, experts + 2 * TABLE + NORMS + 2 * ROUTER)
    assert f"{experts:,} parameters of experts stay in bfloat16" in mixtral.notes[0]
    biases = 2 * (768 + 256 + 1024 + 256)
    rest = TABLE + 64 * 256 + 5 * 2 * 256 + biases
    assert archspec.load(GPT2).weights(name).bytes == total("gpt2", one, rest)


def test_formats_of_whole_files() -> None:
    """Q8_0 and MLX quantize embeddings and the head, a tied matrix once."""
    for config, tables in ((LLAMA, 2), (TIED, 1)):
        model = archspec.load(config)
        assert model.weights("q8_0").bytes == total("dense", q8_0, NORMS, 4) + tables * q8_0(512, 256)
        assert model.weights("mlx-4bit").bytes == total("dense", mlx, NORMS) + tables * mlx(512, 256)
    with pytest.raises(ArchspecError, match=r"mlp.*in mlx, 4 bits is not supported"):
        _ = archspec.load(MIXTRAL).weights("mlx-4bit").bytes


def test_sizes_of_published_files() -> None:
    """Sizes in GB of TheBloke's files of Llama-2-7B and Mixtral-8x7B: AWQ, GPTQ by group size, Q8_0.

    Experts are stored one by one. AutoGPTQ also wrote zeros in float16 as biases, one per output.
    """
    llama = archspec.load("LlamaForCausalLM")
    found = [round(llama.weights(name, "fp16").bytes / 1e9, 2) for name in ("awq", "gptq", "q8_0")]
    assert found == [3.89, 3.89, 7.16]  # GPTQ is 3.90 with metadata
    raw = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "dtype": "float16"}
    biases = 2 * 32 * (2 * 4096 + 2 * 1024 + 8 * (2 * 14336 + 4096))
    for group, gigabytes in ((-1, 23.81), (128, 24.70), (32, 27.42)):
        given = {"quant_method": "gptq", "bits": 4, "group_size": group}
        found_bytes = archspec.load({**raw, "quantization_config": given}).params_bytes()
        assert round((found_bytes + biases) / 1e9, 2) == gigabytes
    mixtral = archspec.load(raw)
    assert round(mixtral.weights("awq").bytes / 1e9, 2) == 24.65
    assert round(mixtral.weights("q8_0").bytes / 1e9, 1) == 49.6


def test_experts_of_a_llama_4_checkpoint_are_loaded_one_by_one() -> None:
    """transformers.quantizers.base patches Llama4TextExperts for bitsandbytes checkpoints only."""
    sizes = {**SMALL, "intermediate_size_mlp": 384, "num_local_experts": 4, "interleave_moe_layer_step": 1}
    llama = {**sizes, "model_type": "llama4_text", "architectures": ["Llama4ForCausalLM"]}
    named = archspec.load(llama).weights("nf4")
    stored = archspec.load({**llama, "quantization_config": {"load_in_4bit": True}}).weights()
    experts = 2 * 4 * 3 * 256 * 384
    assert stored.table[0].elements - named.table[0].elements == experts
    assert stored.table[0].bytes - named.table[0].bytes == 2 * 4 * 3 * nf4(256, 384)
    assert named.notes and not stored.notes


SPELLINGS = {
    "float16": "f16 FP16 half torch.float16",
    "bfloat16": "bf16",
    "float32": "f32",
    "q8_0": "q8_0 Q8_0",
    "gptq": "GPTQ",
    "awq": "int4 w4a16",
    "fp8": "fp8_e4m3 float8_e4m3fn fp8",
    "nf4": "bnb-4bit bnb_4bit",
    "int8": "bnb-8bit i8",
    "nf4-double": "qlora",
}


def test_spellings() -> None:
    found = {name: [find_format(one) for one in text.split()] for name, text in SPELLINGS.items()}
    assert all(getattr(one, "name", one) == name for name, formats in found.items() for one in formats)
    spellings = [(spelling, one) for one in FORMATS for spelling in (one.name, *one.aliases)]
    assert len(spellings) == len({spelling for spelling, _ in spellings})
    assert all(find_format(spelling) is one for spelling, one in spellings)


def test_docs_have_every_format() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "quantities.md").read_text(encoding="utf-8")
    for one in FORMATS:
        assert f"| `{one.name}` | {one.quantizes}: {one.storage} | {one.leaves} |" in page


def test_an_unknown_name_lists_all_and_prints_nothing(capsys: Captured) -> None:
    for command in (["memory", "LlamaForCausalLM"], ["cache", "LlamaForCausalLM", "--budget", "8GiB"]):
        assert main([*command, "--weights", "int3"]) == 2
        printed = capsys.readouterr()
        assert not printed.out and all(name in printed.err for name in NAMES)
        assert {"int8", "nf4", "fp4", "mxfp4", "awq", "gptq", "fp8"} <= {*SCHEMES}
    assert main(["memory", "MixtralForCausalLM", "--weights", "mlx"]) == 2
    assert not capsys.readouterr().out


def test_weights_of_one_byte_need_scales(capsys: Captured) -> None:
    assert main(["memory", "LlamaForCausalLM", "--dtype", "fp8"]) == 2
    printed = capsys.readouterr()
    assert not printed.out and "need scales" in printed.err and "--weights fp8" in printed.err
    assert main(["cache", "LlamaForCausalLM", "--dtype", "fp8", "--budget", "8GiB", "--weights", "fp8"]) == 0


PUBLISHED = [
    ("deepseek-ai--DeepSeek-V4-Flash.json", 155_926_429_998),
    ("mlx-qwen3-8b-4bit-quantization-only.json", 4_607_731_712),
    ("nvidia--Llama-3.1-70B-Instruct-FP8", 72_656_371_712 + 560 * 8),
    ("llama-3.3-70b-fp8-dynamic-ct.json", 72_656_371_712 + 2 * 80 * (2 * 8192 + 2 * 1024 + 2 * 28672 + 8192)),
    ("gpt-neox-20b-4bit.json", 11_528_621_760),
]


@pytest.mark.parametrize(("file", "expected"), PUBLISHED, ids=[file for file, _ in PUBLISHED])
def test_published_configs(file: str, expected: int) -> None:
    model = archspec.load(CASES / file)
    assert model.weights().bytes == model.params_bytes() == model.counts().bytes == expected
    assert model.counts("bf16").bytes == 2 * model.params


def test_a_file_next_to_the_config_is_read(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    file_next_to_it = tmp_path / "hf_quant_config.json"
    stated = {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]}
    file_next_to_it.write_text(json.dumps({"quantization": stated}))
    for source in (tmp_path, tmp_path / "config.json"):
        assert archspec.load(source).params_bytes() == total("dense", nvfp4, 2 * TABLE + NORMS)
    file_next_to_it.write_text('{"quantization":\n {"quant_algo": "W4A8_AWQ"}}')
    assert main(["memory", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "hf_quant_config.json:2:3" in printed.err and "^^^" in printed.err and not printed.out
    assert archspec.load(tmp_path).counts().bytes is None
    file_next_to_it.write_text('{"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}}')
    assert archspec.load(tmp_path).params_bytes() == 2 * archspec.load(LLAMA).params
    file_next_to_it.unlink()
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
    found = archspec.load({**LLAMA, "quantization_config": given}).weights()
    assert found.table[0].elements == 384 * 256 and found.table[0].bytes == expected


def test_compressed_tensors_of_experts_and_ignored_modules() -> None:
    group = {"targets": ["Linear"], "weights": arguments(8, "float", "channel")}
    given = {"quant_method": "compressed-tensors", "format": "float-quantized"}
    given |= {"config_groups": {"group_0": group}, "ignore": ["lm_head", "re:.*self_attn.*", "re:nothing"]}
    found = archspec.load({**MIXTRAL, "quantization_config": given}).weights()
    assert found.table[0].bytes == 2 * 4 * (3 * 256 * 384 + 2 * (2 * 384 + 256))
    assert found.notes == [
        "'re:nothing' is listed as unquantized and matches no module of MixtralForCausalLM"
    ]


def test_a_quantization_of_a_config_is_never_ignored() -> None:
    """All keys that hold a quantization, and keys next to them that change bytes."""
    affine = {"group_size": 64, "bits": 4}
    both = {**LLAMA, "quantization": affine, "quantization_config": affine}
    assert archspec.load(both).params_bytes() == total("dense", mlx, NORMS) + 2 * mlx(512, 256)
    refused: list[dict[str, Any]] = [
        {**LLAMA, "quantization": affine, "quantization_config": {"group_size": 64, "bits": 8}},
        {**LLAMA, "quantization": {"bits": 4, "mode": "mxfp4"}},
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


@pytest.mark.parametrize(
    "changed",
    [
        {"weights": {"num_bits": 8, "type": "float", "group_size": 16}},
        {"weights": {"num_bits": 4, "type": "int", "group_size": 16}},
        {"weights": {"num_bits": 4, "type": "float", "group_size": 32}},
        {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Embedding"]},
        {"targets": ["Linear"]},
        "Linear",
    ],
)
def test_groups_of_modelopt_agree_with_its_algorithm_or_are_refused(changed: Any) -> None:
    stated = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    weights = {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}
    same = {"weights": weights, "targets": ["Linear"]}
    plain = archspec.load({**LLAMA, "quantization_config": stated}).params_bytes()
    groups = {**stated, "config_groups": {"group_0": same}}
    assert archspec.load({**LLAMA, "quantization_config": groups}).params_bytes() == plain
    other = archspec.load({**LLAMA, "quantization_config": {**stated, "config_groups": {"group_0": changed}}})
    assert other.counts().bytes is None
    with pytest.raises(ArchspecError, match="config_groups"):
        other.params_bytes()


def test_an_empty_quantization_is_ignored() -> None:
    empty = archspec.load({**LLAMA, "quantization_config": {}})
    assert empty.notes == archspec.load(LLAMA).notes
    assert empty.params_bytes() == 2 * empty.params


def test_modules_that_mlx_quantizes_in_another_way() -> None:
    affine: dict[str, Any] = {"group_size": 64, "bits": 4, "lm_head": False}
    affine["model.embed_tokens"] = {"group_size": 64, "bits": 8}
    found = archspec.load({**LLAMA, "quantization": affine}).params_bytes()
    assert found == total("dense", mlx, NORMS) + 2 * TABLE + (TABLE + TABLE // 64 * 4)


def test_bytes_of_quantized_weights_are_refused_where_they_are_not_counted() -> None:
    config = {**LLAMA, "quantization_config": {"load_in_4bit": True}}
    with pytest.raises(ArchspecError, match="not supported in sweeps"):
        archspec.sweep(config, set={"num_hidden_layers": [1, 2]}, columns="bytes")
    with pytest.raises(ArchspecError, match="not supported in solve"):
        archspec.solve(config, ["num_hidden_layers"], bytes="1MB")
    assert archspec.sweep(config, set={"num_hidden_layers": [1, 2]}, columns="bytes", dtype="bf16")
    assert archspec.solve(config, ["num_hidden_layers"], bytes="8MB", dtype="bf16")


def test_training_a_quantized_base_is_refused(capsys: Captured) -> None:
    file = str(CASES / "gpt-neox-20b-4bit.json")
    assert main(["memory", file, "--train"]) == 2
    printed = capsys.readouterr()
    assert "trained through adapters" in printed.err and "^^^" in printed.err and not printed.out
    assert main(["memory", file, "--train", "--set", "quantization_config=null", "--tokens", "8"]) == 0
    note = capsys.readouterr().out.splitlines()[-1]
    assert "gelu_fast" in note and "{" not in note
    mlx_file = str(CASES / "mlx-qwen3-8b-4bit-quantization-only.json")
    assert main(["memory", mlx_file, "--train"]) == 2
    assert "--set quantization=null" in capsys.readouterr().err
    assert main(["memory", mlx_file, "--train", "--set", "quantization=null", "--tokens", "8"]) == 0
    assert main(["memory", str(CASES / "nvidia--Llama-3.1-70B-Instruct-FP8"), "--train"]) == 2
    assert "hf_quant_config.json" in capsys.readouterr().err


def test_a_quantized_cache_is_noted(capsys: Captured) -> None:
    folder = str(CASES / "nvidia--Llama-3.1-70B-Instruct-FP8")
    assert main(["cache", folder, "--tokens", "8"]) == 0
    assert "kv_cache_quant_algo stores the KV cache in FP8" in capsys.readouterr().out
    assert main(["cache", folder, "--tokens", "8", "--dtype", "fp8"]) == 0
    assert "note" not in capsys.readouterr().out


def test_every_report_notes_an_assumed_dtype(capsys: Captured) -> None:
    """A dtype in the config or from the option removes the note."""
    bare = {key: value for key, value in LLAMA.items() if key != "dtype"}
    model, stated, grid = archspec.load(bare), archspec.load(LLAMA), {"num_hidden_layers": [1, 2]}
    quantized = archspec.load({**bare, "quantization_config": {"load_in_4bit": True}})
    fixed = quantized.at(dtype="bfloat16").counts()
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
    assert "--dtype" in model.memory(tokens=8).notes[0] and fixed.dtype == "bfloat16"
    assert any("--set dtype=bfloat16" in note for note in quantized.counts().notes)


@pytest.mark.reference
def test_deepseek_v4_is_what_transformers_makes() -> None:
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


@pytest.mark.parametrize("name", ["LongcatFlashForCausalLM", "AriaTextForCausalLM", "GptOssForCausalLM"])
def test_experts_that_transformers_builds_in_another_shape_in_fp8_are_refused(name: str) -> None:
    """FP8Experts takes sizes from the config, and lacks biases."""
    with pytest.raises(ArchspecError, match=r"another shape|not supported"):
        _ = archspec.load(name).weights("fp8", "bf16").bytes
