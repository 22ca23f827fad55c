"""JSON files that stand beside a model's config.json, told by the fields that each of them has."""

from __future__ import annotations

from collections.abc import Mapping

from archspec.typing_light import Any, NamedTuple


class Kind(NamedTuple):
    """A kind of file: what it is, what to give instead, and the fields any of which tells it."""

    what: str
    help: str
    fields: str


_BESIDE = "give the config.json that stands beside it"
KINDS = (
    Kind("it describes an adapter", "give the base model's config", "peft_type"),
    Kind("it describes a part of a diffusers pipeline", "give a transformers config", "_class_name"),
    Kind("it is open_clip's", "give the config of the same model in transformers", "model_cfg vision_cfg"),
    Kind("it is the index of a checkpoint's files", _BESIDE, "weight_map"),
    Kind("it is a trainer's state", _BESIDE, "log_history best_model_checkpoint"),
    Kind(
        "it says how inputs are prepared",
        _BESIDE,
        "image_processor_type feature_extractor_type processor_class do_resize do_normalize image_mean",
    ),
    Kind(
        "it describes a tokenizer",
        _BESIDE,
        "tokenizer_class tokenizer_file added_tokens_decoder added_tokens model_max_length do_lower_case "
        "cls_token unk_token chat_template",
    ),
    Kind(
        "it says how text is generated",
        _BESIDE,
        "_from_model_config max_new_tokens do_sample top_p num_beams decoder_start_token_id eos_token_id "
        "bos_token_id",
    ),
    Kind("it is sentence-transformers'", _BESIDE, "word_embedding_dimension __version__ max_seq_length"),
    Kind("it is DeepSpeed's", _BESIDE, "zero_optimization train_batch_size"),
    Kind("it says how weights are quantized", _BESIDE, "group_size"),
    Kind("it is of weights in another format", "convert the checkpoint to transformers'", "n_layers n_heads"),
    Kind("it describes a package", "give a config.json", "dependencies devDependencies"),
)
_SIZES = ("hidden_size", "d_model", "n_embd", "num_hidden_layers", "n_layer", "num_layers", "vocab_size")


def told(raw: Mapping[str, Any]) -> Kind | None:
    """The kind of file that a JSON object without a model type comes from; None where it may be a config.

    >>> told({"weight_map": {}}).what, told({"hidden_size": 8, "eos_token_id": 1})
    ("it is the index of a checkpoint's files", None)
    """
    if any(name in raw for name in _SIZES) and "n_layers" not in raw:
        return None
    return next((kind for kind in KINDS if any(name in raw for name in kind.fields.split())), None)
