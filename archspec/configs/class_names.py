"""Names of classes that no spec describes: what is known of them, and which class is meant."""

from __future__ import annotations

import re
from collections.abc import Mapping

from archspec.configs.origin import Origin
from archspec.errors import Place, UnknownArchitectureError, did_you_mean
from archspec.specs.exported import exported
from archspec.specs.library import LIST_HELP, TRANSFORMERS_VERSION, shipped
from archspec.specs.records import Spec
from archspec.typing_light import Any

_FRAMEWORKS = {"TF": "TensorFlow", "Flax": "Flax"}
_HEADS = {"WithLMHeadModel": "ForCausalLM", "LMHeadModel": "ForCausalLM", "LMHead": "ForCausalLM"}
_HEAD = r"(For[A-Z]\w*|(With)?LMHead(Model)?|WithProjection|DoubleHeadsModel)$"


def unknown_type(model_type: str, remote: bool = False) -> tuple[str, str]:
    """What to say of a model type that no spec describes, and what helps: never another name for a right one.

    ``remote``: the config names code of its own.
    """
    help_ = f"--architecture names a class of transformers to count it as; {LIST_HELP}"
    if model_type in exported():
        return (
            f"{model_type} is a model type of transformers {TRANSFORMERS_VERSION} that is not described",
            help_,
        )
    if remote:
        return f"{model_type} is no model type of transformers: its code is not part of it (auto_map)", help_
    message = f"transformers {TRANSFORMERS_VERSION} has no model type {model_type!r}"
    near = did_you_mean(model_type, exported())
    return message, f"{near} say it with --set model_type=…" if near.startswith("did you mean") else help_


def unknown_part(
    model_type: str, raw: Mapping[str, Any], origin: Origin, place: Place
) -> UnknownArchitectureError:
    """That no spec describes the model type of a sub-config, at its line, or the spec's where it has none."""
    message, help_ = unknown_type(model_type, "auto_map" in raw)
    if raw.get("model_type"):
        return UnknownArchitectureError(origin.problem("model_type", message, help_))
    return UnknownArchitectureError(message, place, help=help_)


def unknown_class(name: str, spec: Spec | None, remote: bool) -> tuple[str, str]:
    """What to say of a class that no spec describes, and what helps; ``spec`` is of the config's type."""
    if any(name in classes for classes in exported().values()):
        return f"{name} is a class of transformers {TRANSFORMERS_VERSION} that is not described", LIST_HELP
    framework = next((prefix for prefix in _FRAMEWORKS if re.match(prefix + "[A-Z]", name)), "")
    message = f"transformers {TRANSFORMERS_VERSION} has no class {name}"
    if framework:
        message += f": it had it for {_FRAMEWORKS[framework]}"
    elif remote:
        message += ": its code is the checkpoint's own (auto_map)"
    return message, _help(name.removeprefix(framework), spec)


def _help(name: str, spec: Spec | None) -> str:
    """The class that is meant, by its name or its head: never the base model in place of a head."""
    known = shipped().index()
    if name in known:
        return f"--architecture {name} counts the same model in PyTorch"
    if same := next((one for one in known if one.lower() == name.lower()), ""):
        return f"did you mean {same}? say it with --architecture {same}"
    longest = max((one for one in known if name.startswith(one) and _head(one)), key=len, default="")
    if longest:
        return f"--architecture {longest} counts that class, without what {name} changes in it"
    alike = [one for one in (spec.architectures if spec else ()) if _head(one) and _head(one) == _head(name)]
    if alike:
        return f"the same head is {alike[0]}'s: say it with --architecture {alike[0]}"
    if spec is not None and spec.architectures:
        return f"say which class is meant with --architecture, e.g. {spec.architectures[0]}"
    near = did_you_mean(name, known)
    return near if near.startswith("did you mean") else LIST_HELP


def _head(name: str) -> str:
    """The head of a class by its name: ForCausalLM, of whatever model; '' for a base model."""
    found = re.search(_HEAD, name)
    return _HEADS.get(found.group(), found.group()) if found else ""
