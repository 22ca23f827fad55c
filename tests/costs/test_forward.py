"""FLOPs and caches that papers and model cards give; calls that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.records import Call as Lengths
from archspec.costs.totals import by_module, total_cost
from archspec.errors import ArchspecError, FormulaError
from archspec.specs.index import CostRecord
from archspec.specs.library import Library, shipped_library
from archspec.symbolic.closed_form import ClosedForm

Call = Callable[..., Forward]
LLAMA_3_1_8B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}


@pytest.fixture
def call(toy: Any) -> Call:
    """Return a call of a toy model."""
    return lambda body, *lengths: Forward(*toy(body), *lengths)


@pytest.mark.parametrize(
    ("body", "lengths", "flops"),
    [
        ("proj: Linear(n, 5)\n  norm: LayerNorm(n)", (2, 7), {"proj": 2 * 2 * 7 * 3 * 5}),
        ("runs: {none: 0}\n  one: Linear(n, n)\n  none: Linear(n, n)", (1, 4), {"one": 72}),
        ("runs: {one: 1}\n  one: Linear(n, n)", (1, 4), {"one": 18}),
        ("runs: {often: {times: 3}}\n  often: Linear(n, n)", (1, 4), {"often": 3 * 72}),
        ("runs: {used: tokens}\n  used: Parameter(n, n)\n  scale: Parameter(n, n)", (1, 4), {"": 72}),
        (
            "experts: Experts().routed(2, 8)\nExperts:\n  runs: {up: tokens}\n  up: Parameter(8, n, n)",
            (1, 4),
            {"experts": 2 * 4 * 2 * 9},
        ),
        (
            "layers: '[Layer() for i in range(4)]'\nLayer:\n  where: {kinds: '[1, 2, 1, 2]'}\n"
            "  runs: {proj: 'kinds[layer_idx]'}\n  proj: Linear(n, n)",
            (1, 9),
            {f"layers.{i}.proj": flops for i, flops in enumerate((18, 36, 18, 36))},
        ),
    ],
    ids=["linear", "idle", "tokens", "times", "parameter", "experts", "layer_idx"],
)
def test_flops_of_modules(call: Call, body: str, lengths: tuple[int, int], flops: dict[str, int]) -> None:
    found = call(f"Toy:\n  {body}", *lengths)
    assert found.flops_by_module == flops
    assert found.flops == found.masked_flops == sum(flops.values())


def test_gradients_are_two_products_for_each(call: Call) -> None:
    runs = "first: {backward: 1}, chosen: {trained: 0}, cycled: {times: 3, trained: 1}, often: {times: 3}"
    names = ("first", "chosen", "cycled", "often", "all")
    layers = "".join(f"  {name}: Linear(n, n)\n" for name in names)
    found = call(f"Toy:\n  runs: {{{runs}}}\n  ops: matmul(n, n, n, gradients=1)\n{layers}", 1, 4)
    once = 2 * 4 * 9
    forwards = {"first": 2, "chosen": 1, "cycled": 5, "often": 9, "all": 3}
    assert found.step_flops_by_module == {"": 2 * 2 * 27, **{n: k * once for n, k in forwards.items()}}
    assert found.flops == 2 * 27 + 9 * once
    body = "Toy:\n  runs: {cycle: {times: 2, trained: 0}}\n  cycle: Cycle()\nCycle:\n"
    untrained = call(
        f"{body}  runs: {{proj: {{times: 2}}}}\n  ops: gated_delta_rule(h, n, n)\n  proj: Linear(n, n)", 1, 4
    )
    assert untrained.step_flops_by_module == untrained.flops_by_module


def test_a_module_that_does_not_run_keeps_nothing(call: Call) -> None:
    layer = "Layer:\n  runs: {k: context}\n  ops: causal_attention(h, h, n)\n  k: Linear(n, n)"
    found = call(f"Toy:\n  runs: {{tower: 0}}\n  tower: Layer()\n  layer: Layer()\n{layer}", 1, 4, 5)
    assert {tensor.module for tensor in found.cache} == {"layer"}
    assert found.flops_by_module == {"layer": 4 * 2 * 4 * 9 * 3, "layer.k": 2 * 9 * 9}
    body = "Toy:\n  cache: none\n  layer: Layer()\nLayer:\n  ops: causal_attention(h, h, n)"
    assert call(body, 1, 4).cache == []
    with pytest.raises(ArchspecError, match="does not return a KV cache"):
        call(body, 1, 1, 4)


@pytest.mark.parametrize("lengths", [(0, 1), (1, 0), (1, 1, -1), (True, 1), (1, 1.5)])
def test_lengths_are_whole(call: Call, lengths: tuple[Any, ...]) -> None:
    with pytest.raises(ArchspecError, match="must be an integer of at least "):
        call("Toy:\n  proj: Linear(n, n)", *lengths)


@pytest.mark.parametrize(
    ("name", "lengths", "message"),
    [
        ("T5ForConditionalGeneration", {}, "needs an encoder sequence length"),
        ("LlamaForCausalLM", {"encoder_tokens": 3}, "does not attend to an encoder"),
        (
            "T5ForConditionalGeneration",
            {"encoder_tokens": 3, "new_encoder_tokens": 4},
            "new_encoder_tokens is greater than encoder_tokens",
        ),
        ("BltModel", {}, "are not supported"),
    ],
)
def test_calls_that_a_class_does_not_have_are_refused(
    name: str, lengths: dict[str, int], message: str
) -> None:
    with pytest.raises(ArchspecError, match=message):
        archspec.load(name).forward(tokens=8, **lengths)


def test_published_caches_of_one_token() -> None:
    assert archspec.load(LLAMA_3_1_8B).forward(tokens=1).cache_bytes("bfloat16") == 128 * 1024
    found = archspec.load("DeepseekV3ForCausalLM").forward(tokens=1)
    assert found.cache_bytes("bfloat16") == 61 * (512 + 64) * 2 == 70_272
    assert {tensor.kind for tensor in found.cache} == {"latent"}
    # With new_decoder_architecture (Falcon-40B) groups of heads are expanded before they are cached.
    falcon = {"model_type": "falcon", "num_attention_heads": 8, "num_kv_heads": 2, "hidden_size": 64}
    falcon |= {"num_hidden_layers": 2, "new_decoder_architecture": True}
    assert archspec.load(falcon, "FalconModel").forward(tokens=5).cache_elements() == 2 * 2 * 8 * 5 * 8


def test_gpt_oss_reserves_by_allocation() -> None:
    found = archspec.load("GptOssForCausalLM").forward(tokens=4096)
    one = 8 * 64 * 2  # elements of a layer and position; of 36 layers every second one has a window
    assert found.cache_elements() == 18 * one * (4096 + 127)
    assert found.cache_elements("static") == 18 * one * (4096 + 128)
    assert found.cache_bytes("bfloat16", "pages") == 73_728 * 4096
    with pytest.raises(ArchspecError, match="unknown allocation"):
        found.cache_elements("paged")


def test_a_state_may_have_a_fixed_dtype(call: Call) -> None:
    body = "Toy:\n  cache:\n    conv: batch, n\n    state: batch, h, 'float32'\n    none: batch, 0, 'float32'"
    found = call(body, 5, 4)
    tensors = [(tensor.name, tensor.shape, tensor.dtype) for tensor in found.cache]
    assert tensors == [("conv", (5, 3), None), ("state", (5, 2), "float32")]
    assert found.cache_elements() == 25
    assert found.cache_bytes("bfloat16") == 5 * (3 * 2 + 2 * 4)
    assert found.cache_bytes("float32", "pages") == 25 * 4


def test_bytes_of_states_have_no_closed_form_in_one_dtype() -> None:
    def elements(model_type: str, architecture: str) -> ClosedForm:
        scope = Scope(shipped_library().load(model_type), {"num_hidden_layers": 2})
        return ClosedForm.derive(scope, architecture, "cache_elements", Lengths(1, 4))

    with pytest.raises(FormulaError, match="have a fixed dtype"):
        elements("mamba2", "Mamba2Model").in_bytes("bfloat16")
    with pytest.raises(FormulaError, match="dtype has no effect on flops"):
        archspec.load("LlamaModel").sensitivity("flops", dtype="bf16")
    plain = elements("llama", "LlamaModel")
    assert plain.in_bytes("bfloat16").evaluate() == 2 * plain.evaluate()


def test_gradients_that_were_not_verified_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    record = CostRecord(["LlamaModel", "LlamaForCausalLM"], training=["LlamaModel"])
    monkeypatch.setattr(Library, "costs", lambda *_: record)
    base, model = archspec.load("LlamaModel"), archspec.load("LlamaForCausalLM")
    assert base.forward(1, 5).training_flops == 3 * base.forward(1, 5).flops
    with pytest.raises(ArchspecError, match="a training step does not have a KV cache"):
        _ = base.forward(1, 1, 4).training_flops
    message = "training FLOPs are not supported for LlamaForCausalLM .*: its gradients were not validated"
    with pytest.raises(ArchspecError, match=message):
        model.quantity("training_flops")
    for training in (record.training, ()):
        monkeypatch.setattr(Library, "costs", lambda *_, found=training: record._replace(training=found))
        with pytest.raises(ArchspecError, match=message):
            _ = model.forward(1, 5).training_flops


def test_numbers_that_were_not_validated_are_refused() -> None:
    scope = Scope(shipped_library().load("llama"), {"num_hidden_layers": 1})
    whole = Forward(scope, "LlamaModel", 1, 8)
    assert whole.masked_flops < whole.flops
    assert whole.allocations == ("exact", "static", "pages")
    found = Forward(scope, "LlamaModel", 1, 8, held=())
    assert (found.flops, found.allocations) == (whole.flops, ("exact", "pages"))
    with pytest.raises(ArchspecError, match="masked FLOPs of LlamaModel are not supported"):
        print(found.masked_flops)
    with pytest.raises(ArchspecError, match="static caches of LlamaModel are not supported"):
        found.cache_bytes("bfloat16", "static")


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("LlamaForCausalLM", {"tokens": 5}),
        ("MixtralForCausalLM", {"tokens": 5}),  # experts in one tensor
        ("PhimoeForCausalLM", {"tokens": 5}),
        ("SwitchTransformersModel", {"tokens": 5, "encoder_tokens": 7}),  # experts are modules
        ("Qwen2VLForConditionalGeneration", {"text_tokens": 5, "images": [(224, 448), (56, 56)]}),
    ],
)
def test_totals_are_sums_over_modules(name: str, lengths: dict[str, Any]) -> None:
    call = archspec.load(name).forward(**lengths)
    assert call.flops == sum(call.flops_by_module.values()) > 0
    masked = sum(by_module(call.tree, "masked_flops").values())
    assert total_cost(call.tree, "masked_flops") == masked > 0
