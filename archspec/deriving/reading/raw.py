"""Under the reading of configs: a config before `__post_init__`, and what of PreTrainedConfig's own is known
without reading."""

from __future__ import annotations

import dataclasses
from typing import Any

from archspec.deriving.reading.attributes import STILL, seen_field
from archspec.deriving.reading.resolution import ConfigModel
from archspec.deriving.reading.values import MISSING


class Raw:
    """A config as it is before `__post_init__`: the fields' defaults."""

    def __init__(self, model: ConfigModel) -> None:
        for name, value in model.defaults.items():
            if value is not MISSING and name in {f.name for f in dataclasses.fields(model.cls)}:
                self.__dict__[name] = value
        for name in (*getattr(model.cls, "sub_configs_defaults", {}), *STILL):
            if (seen := seen_field(model.real, name)) is not MISSING:
                self.__dict__[name] = seen

    is_heterogeneous = False

    def get_text_config(self, *arguments: Any, **keywords: Any) -> Any:
        return self


CONFIG_SKIPPED = frozenset(
    [
        "validate",
        "convert_rope_params_to_dict",
        "standardize_rope_params",
        "set_output_features_output_indices",
        "verify_out_features_out_indices",
        "validate_rope",
        "_set_attn_implementation",
    ]
)
VALIDATORS = frozenset(
    ["validate_output_attentions", "validate_token_ids", "validate_rope", "validate_layer_type"]
)
