"""The modules that transformers' own quantizers take, class by class, on the meta device."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.specs.library import shipped_library

CLASSES = (
    *("LlamaForCausalLM", "Gemma2ForCausalLM", "GPT2LMHeadModel", "GPTNeoXForCausalLM", "FalconForCausalLM"),
    *("MixtralForCausalLM", "Qwen3MoeForCausalLM", "DeepseekV3ForCausalLM", "GraniteMoeForCausalLM"),
    *("Llama4ForCausalLM", "JambaForCausalLM", "PhimoeForCausalLM", "Qwen3NextForCausalLM"),
    "OlmoeForCausalLM",
    *("Mamba2ForCausalLM", "T5ForConditionalGeneration", "UdopForConditionalGeneration", "BertModel"),
    *("ViTForImageClassification", "CLIPModel", "WhisperForConditionalGeneration", "BridgeTowerModel"),
    *("Blip2ForConditionalGeneration", "LlavaForConditionalGeneration", "AlbertForMaskedLM"),
)


@pytest.mark.reference
@pytest.mark.parametrize("name", CLASSES)
def test_bitsandbytes_and_fp8_take_the_same_modules(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`should_convert_module` and `type(module) is nn.Linear` for bitsandbytes, all bytes for fp8."""
    import torch
    import transformers
    from transformers.integrations import finegrained_fp8
    from transformers.pytorch_utils import Conv1D
    from transformers.quantizers.base import HfQuantizer
    from transformers.quantizers.quantizers_utils import should_convert_module

    experts = finegrained_fp8.FP8Experts  # transformers wraps its methods once more for each layer
    monkeypatch.setattr(experts, "__init__", experts.__init__)
    monkeypatch.setattr(experts, "forward", experts.forward)
    cls = getattr(transformers, name)
    config = cls.config_class()
    with torch.device("meta"):
        model = cls(config).to(torch.bfloat16)
    left = HfQuantizer.get_modules_to_not_convert(model, None, model._keep_in_fp32_modules)
    taken = {
        f"{path}.weight"
        for path, module in model.named_modules()
        if should_convert_module(path, left)
        and (type(module) is torch.nn.Linear or isinstance(module, Conv1D))
    }
    raw: dict[str, Any] = {**config.to_dict(), "architectures": [name], "dtype": "bfloat16"}
    raw["model_type"] = shipped_library().model_type_of(name)
    ours = archspec.load(raw)
    for format in ("int8", "nf4"):
        if taken:
            assert ours.weights(format).quantized_names == taken
        else:
            with pytest.raises(archspec.ArchspecError, match="which has no supported layers"):
                _ = ours.weights(format).bytes
    taken = {  # quantizer_torchao.py matches the names of parameters
        f"{path}.weight"
        for path, module in model.named_modules()
        if should_convert_module(f"{path}.weight", left) and isinstance(module, torch.nn.Linear)
    }
    if any(path.endswith("attn.out_proj.weight") and "resblocks" in path for path in taken):
        with pytest.raises(archspec.ArchspecError, match=r"attn.out_proj of BridgeTowerModel"):
            _ = ours.weights("torchao-int8").bytes
    elif taken:
        assert ours.weights("torchao-int8").quantized_names == taken
    torch.set_default_dtype(torch.bfloat16)
    try:
        finegrained_fp8.replace_with_fp8_linear(model, left, transformers.FineGrainedFP8Config())
    finally:
        torch.set_default_dtype(torch.float32)
    parameters = [*model.parameters()]
    if not any(one.element_size() == 1 for one in parameters):
        with pytest.raises(archspec.ArchspecError, match="which has no supported layers"):
            _ = ours.weights("fp8").bytes
    else:
        assert ours.weights("fp8").bytes == sum(one.nbytes for one in parameters)


@pytest.mark.reference
@pytest.mark.parametrize(
    "name", ("GPTNeoXForCausalLM", "FalconForCausalLM", "MixtralForCausalLM", "BertModel")
)
@pytest.mark.parametrize("method", ["bitnet", "eetq"])
def test_bitnet_and_eetq_have_the_bytes_of_the_same_layers(
    name: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BitLinear and EetqLinear replace the Linears of a model; BitLinear has buffers."""
    import torch
    import transformers
    from transformers.integrations import bitnet, eetq, hub_kernels
    from transformers.quantizers.base import HfQuantizer

    monkeypatch.setattr(hub_kernels, "get_kernel", lambda *_, **__: None)
    cls = getattr(transformers, name)
    config = cls.config_class()
    with torch.device("meta"):
        model = cls(config).to(torch.bfloat16)
    left = HfQuantizer.get_modules_to_not_convert(model, None, model._keep_in_fp32_modules)
    if method == "eetq":
        eetq.replace_with_eetq_linear(model, left, pre_quantized=True)
    else:
        bitnet.replace_with_bitnet_linear(model, left)
    layers = [one for one in model.modules() if isinstance(one, bitnet.BitLinear)]
    stored = [*model.parameters(), *(tensor for one in layers for tensor in one.buffers())]
    raw: dict[str, Any] = {**config.to_dict(), "architectures": [name], "dtype": "bfloat16"}
    raw |= {
        "model_type": shipped_library().model_type_of(name),
        "quantization_config": {"quant_method": method},
    }
    assert archspec.load(raw).weights().bytes == sum(one.nbytes for one in stored)
