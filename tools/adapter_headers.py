"""Records tests/checking/adapters.json: the tensors in files of adapters that peft saves.

`python -m tools.adapter_headers` adapts small models with random weights.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import archspec

PATH = Path(__file__).parent.parent / "tests" / "checking" / "adapters.json"
_SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
_MIXTRAL = {"model_type": "mixtral", **_SIZES, "num_key_value_heads": 2, "vocab_size": 50}
_MIXTRAL |= {"architectures": ["MixtralForCausalLM"], "num_local_experts": 3}
_BERT = {"model_type": "bert", **_SIZES, "architectures": ["BertForSequenceClassification"], "num_labels": 5}
_GPT2 = {"model_type": "gpt2", "n_embd": 24, "n_layer": 2, "n_head": 2, "vocab_size": 50}
_GPT2 |= {"architectures": ["GPT2LMHeadModel"]}
_EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
CASES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (_MIXTRAL, {"target_modules": ["q_proj"], "target_parameters": _EXPERTS}),
    (_MIXTRAL, {"target_modules": ["q_proj"], "lora_bias": True}),
    (_MIXTRAL, {"target_modules": ["q_proj", "v_proj"], "use_dora": True}),
    (_MIXTRAL, {"target_modules": ["q_proj", "embed_tokens", "lm_head"]}),
    (_MIXTRAL, {"target_modules": "all-linear"}),
    (_MIXTRAL, {"target_modules": ["q_proj"], "layer_replication": [[0, 2], [1, 2]]}),
    (_GPT2, {"target_modules": ["c_attn"], "bias": "all", "fan_in_fan_out": True}),
    (_BERT, {"target_modules": ["query"], "task_type": "SEQ_CLS", "modules_to_save": ["pooler"]}),
)


def record(config: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options and the tensors of an adapter's files."""
    from peft import LoraConfig, get_peft_model

    from archspec.reference import config_of, model_class

    made = model_class(config["architectures"][0], config["model_type"])
    with tempfile.TemporaryDirectory() as folder:
        adapted = get_peft_model(made(config_of(config["model_type"], config)), LoraConfig(r=4, **options))
        adapted.save_pretrained(folder)
        saved = json.loads(Path(folder, "adapter_config.json").read_text(encoding="utf-8"))
        (file,) = archspec.check(folder, config).files
    return {"config": config, "options": saved, "tensors": {one.name: one.shape for one in file.tensors}}


def main() -> None:
    """Write one record per line."""
    rows = [json.dumps(record(*case)) for case in CASES]
    PATH.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
