"""The float32 parameters of a 16-bit model are those that transformers builds and loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.configs.overrides import parse_settings
from archspec.formats.scheme import kept_in_float32
from archspec.specs.library import shipped_library

SIZES = """vocab_size=64, hidden_size=32, intermediate_size=48, moe_intermediate_size=16, num_hidden_layers=3,
first_k_dense_replace=1, num_attention_heads=2, num_key_value_heads=2, n_routed_experts=8, n_group=2,
topk_group=1, num_experts_per_tok=2, q_lora_rank=8, kv_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=8,
v_head_dim=8"""
TINY: dict[str, Any] = {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]}
TINY |= {"dtype": "bfloat16", **parse_settings([SIZES])}
ROUTERS = 2 * 8 * 32  # parameters of the two routers


def test_routers_of_deepseek_v3_take_four_bytes() -> None:
    model = archspec.load(TINY)
    assert model.weights().bytes == 2 * model.params
    assert model.weights().loaded_table[-1] == ("float32", ROUTERS, 4 * ROUTERS)
    assert model.memory().weights_bytes == 2 * model.params + 2 * ROUTERS
    assert model.memory(dtype="float32").weights_bytes == 4 * model.params
    assert f"transformers loads {ROUTERS} parameters in float32, whatever the dtype" in model.memory().notes


def test_a_format_that_transformers_does_not_load_keeps_none() -> None:
    model = archspec.load({**TINY, "quantization": {"group_size": 32, "bits": 4}})
    assert model.weights().scheme is not None and model.weights().upcast_params == 0


def test_float16_keeps_more_than_bfloat16() -> None:
    t5 = archspec.load("T5Model")
    assert t5.weights("bf16").upcast_params == 0
    assert t5.weights("fp16").upcast_params == 12 * 512 * 2048  # the second Linear of each layer's MLP


@pytest.mark.reference
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_loaded_weights_are_transformers(dtype: str, tmp_path: Path) -> None:
    import torch
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    torch_dtype = getattr(torch, dtype)
    DeepseekV3ForCausalLM(DeepseekV3Config(**TINY)).to(torch_dtype).save_pretrained(tmp_path)
    loaded = DeepseekV3ForCausalLM.from_pretrained(tmp_path, dtype=torch_dtype)
    model = archspec.load(TINY)
    assert sum(one.nbytes for one in loaded.parameters()) == model.memory(dtype=dtype).weights_bytes
    for parameter in loaded.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = torch.optim.AdamW(loaded.parameters())
    optimizer.step()
    step = model.training(tokens=4, dtype=dtype, optimizer="adamw_torch")
    states = [one for state in optimizer.state.values() for name, one in state.items() if name != "step"]
    assert step.weights_bytes == step.gradients_bytes == sum(one.nbytes for one in loaded.parameters())
    assert step.optimizer_bytes == sum(one.nbytes for one in states)


def expected(model: Any, dtype: str) -> set[str]:
    """The names that `from_pretrained` loads in float32, of a model that is built in bfloat16."""
    import torch
    from transformers.core_model_loading import build_glob_alternation

    plan = model._get_dtype_plan(getattr(torch, dtype)) if hasattr(model, "_get_dtype_plan") else {}
    pattern = build_glob_alternation([*plan])[0] if plan else None
    dtypes = {path: one.dtype for path, one in model.named_parameters()}
    kept = {path for path in dtypes if pattern is not None and pattern.search(path)}
    return kept | {path for path, one in dtypes.items() if one == torch.float32}


@pytest.mark.reference
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_names_are_those_that_transformers_loads_in_float32(every: int) -> None:
    """For the first class of model types that transformers builds at the default config; all in the night."""
    from archspec.reference.classes import config_of, model_class
    from archspec.reference.construction import build
    from archspec.reference.contents import default_dtype
    from archspec.reference.verdicts import Refused, Unavailable

    compared, wrong = 0, []
    firsts = [(model_type, names[0]) for model_type, names in shipped_library().catalog().items() if names]
    for model_type, name in firsts[::every]:
        try:
            with default_dtype("bfloat16"):
                model = build(model_class(name, model_type), config_of(model_type, {}))
            ours = archspec.load({"model_type": model_type}, name)
        except (Refused, Unavailable, archspec.ArchspecError):
            continue
        unique = [one for one in ours._tensors if not one.tied_to]
        for dtype in ("bfloat16", "float16"):
            differing = kept_in_float32(ours.root, unique, dtype) ^ expected(model, dtype)
            wrong += [(model_type, dtype, path) for path in sorted(differing)[:1]]
        compared += 1
    assert not wrong
    assert compared > 600 / every
