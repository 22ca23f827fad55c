"""Weight formats by name: bytes against the tools' layouts, published files and transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
from layouts import EXPERTS, LLAMA, MIXTRAL, NORMS, ROUTER, SMALL, STORED, TABLE, total

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError
from archspec.formats.scheme import FORMATS, NAMES, SCHEMES, find_format

Captured = pytest.CaptureFixture[str]
TIED = {**LLAMA, "tie_word_embeddings": True}
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "dtype": "bfloat16", "vocab_size": 512}
GPT2 |= {"n_embd": 256, "n_head": 4, "n_layer": 2, "n_positions": 64}


@pytest.mark.parametrize("name", ["gptq", "awq", "nvfp4", "fp8"])
def test_formats_that_quantize_experts(name: str) -> None:
    """Dense, tied and with experts: the head, embeddings, norms and routers stay in the model's dtype."""
    one = STORED[name]
    llama = archspec.load(LLAMA).weights(name)
    assert llama.bytes == total("dense", one, 2 * TABLE + NORMS) and not llama.notes
    assert archspec.load(TIED).weights(name).bytes == total("dense", one, TABLE + NORMS)
    mixtral = archspec.load(MIXTRAL).weights(name)
    fused = total("experts", one, 2 * TABLE + NORMS + 2 * ROUTER)
    assert mixtral.bytes == fused and not mixtral.notes


@pytest.mark.parametrize("name", ["nf4", "fp4", "int8"])
def test_bitsandbytes_notes_that_experts_stay_unquantized(name: str) -> None:
    one = STORED[name]
    assert archspec.load(LLAMA).weights(name).bytes == total("dense", one, 2 * TABLE + NORMS)
    assert archspec.load(TIED).weights(name).bytes == total("dense", one, TABLE + NORMS)
    mixtral = archspec.load(MIXTRAL).weights(name)
    assert mixtral.bytes == total("attention", one, EXPERTS + 2 * TABLE + NORMS + 2 * ROUTER)
    assert f"{EXPERTS:,} expert parameters stay in bfloat16" in mixtral.notes[0]
    biases = 2 * (768 + 256 + 1024 + 256)
    rest = TABLE + 64 * 256 + 5 * 2 * 256 + biases
    assert archspec.load(GPT2).weights(name).bytes == total("gpt2", one, rest)


def test_biases_of_gptq_and_awq_are_in_float16() -> None:
    """Of a float32 model, too: the packers convert them."""
    biased = {**LLAMA, "dtype": "float32", "attention_bias": True}
    for name in ("gptq", "awq"):
        plain = archspec.load({**biased, "attention_bias": False}).weights(name)
        found = archspec.load(biased).weights(name)
        added = archspec.load(biased).params - archspec.load({**biased, "attention_bias": False}).params
        assert added > 0 and found.bytes - plain.bytes == 2 * added


def test_formats_of_whole_files() -> None:
    """MLX quantizes embeddings and the head, a tied matrix once."""
    mlx = STORED["mlx"]
    for config, tables in ((LLAMA, 2), (TIED, 1)):
        model = archspec.load(config)
        assert model.weights("mlx-4bit").bytes == total("dense", mlx, NORMS) + tables * mlx(512, 256)
    with pytest.raises(ArchspecError, match=r"mlp.*in mlx \(4 bits\) is not supported"):
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


@pytest.mark.parametrize("name", ["gptq", "awq", "mlx-4bit"])
def test_a_group_size_gives_the_bytes_of_a_config_with_it(name: str) -> None:
    for size in (64, 32, -1) if name != "mlx-4bit" else (128, 32):
        key = "quantization" if name == "mlx-4bit" else "quantization_config"
        given = {"bits": 4, "group_size": size} | ({} if name == "mlx-4bit" else {"quant_method": name})
        found = archspec.load(LLAMA).weights(name, group_size=size)
        assert found.bytes == archspec.load({**LLAMA, key: given}).params_bytes()
        assert f"group size {size}" in found.format
        assert found.bytes != archspec.load(LLAMA).weights(name).bytes
    with pytest.raises(ArchspecError, match=f"{name} does not support group_size=48"):
        archspec.load(LLAMA).weights(name, group_size=48)


@pytest.mark.parametrize("name", [one.name for one in FORMATS.values() if not one.group_sizes])
def test_a_group_size_is_refused_if_the_format_fixes_it(name: str) -> None:
    with pytest.raises(ArchspecError, match=f"{name} does not support group_size=64"):
        archspec.load(LLAMA).weights(name, group_size=64)


@pytest.mark.parametrize("name", [None, "bf16", "Q4_K_M"])
def test_a_group_size_needs_a_quantized_format(name: str | None) -> None:
    with pytest.raises(ArchspecError, match="group_size has no effect on"):
        archspec.load(LLAMA).weights(name, group_size=64)


def test_experts_of_a_llama_4_checkpoint_are_loaded_one_by_one() -> None:
    """transformers.quantizers.base patches Llama4TextExperts for bitsandbytes checkpoints only."""
    sizes = {**SMALL, "intermediate_size_mlp": 384, "num_local_experts": 4, "interleave_moe_layer_step": 1}
    llama = {**sizes, "model_type": "llama4_text", "architectures": ["Llama4ForCausalLM"]}
    named = archspec.load(llama).weights("nf4")
    stored = archspec.load({**llama, "quantization_config": {"load_in_4bit": True}}).weights()
    assert stored.table[0].elements - named.table[0].elements == EXPERTS
    assert stored.table[0].bytes - named.table[0].bytes == 2 * 4 * 3 * STORED["nf4"](256, 384)
    assert named.notes and not stored.notes


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("float16", "f16 FP16 half torch.float16"),
        ("bfloat16", "bf16"),
        ("float32", "f32"),
        ("gptq", "GPTQ"),
        ("awq", "int4 w4a16"),
        ("fp8", "fp8_e4m3 float8_e4m3fn fp8"),
        ("nf4", "bnb-4bit bnb_4bit"),
        ("int8", "bnb-8bit i8"),
        ("nf4-double", "qlora"),
    ],
)
def test_spellings(name: str, spellings: str) -> None:
    assert {getattr(one, "name", one) for one in map(find_format, spellings.split())} == {name}


def test_formats_have_unique_names_and_are_documented() -> None:
    spellings = [(spelling, one) for one in FORMATS.values() for spelling in (one.name, *one.aliases)]
    assert len(spellings) == len({spelling for spelling, _ in spellings})
    assert all(find_format(spelling) is one for spelling, one in spellings)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "quantities.md").read_text(encoding="utf-8")
    for one in FORMATS.values():
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


@pytest.mark.parametrize("name", ["LongcatFlashForCausalLM", "AriaTextForCausalLM", "GptOssForCausalLM"])
def test_experts_that_transformers_builds_in_another_shape_in_fp8_are_refused(name: str) -> None:
    """FP8Experts takes sizes from the config, and lacks biases."""
    with pytest.raises(ArchspecError, match=r"another shape|not supported"):
        _ = archspec.load(name).weights("fp8", "bf16").bytes
