"""`python -m tools.runs [MODEL_TYPE ...] [--seed N]` prints conditions that a spec's `runnable:` lacks.

transformers builds many configs whose forward pass fails, such as 17 query heads over 8 key-value heads. For
each model type this draws configs with a few fields changed, runs each on torch's meta device, and finds the
shortest list of conditions that separates those that fail from those that run. A condition is kept only if
every config that violates it fails. Fresh configs then check the result. Conditions on kinds of layers come
from tools/layer_kinds.py.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

import archspec
from archspec.configs.scope import Scope
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.costs import encodes, instance, output_of
from archspec.reference.meta import on_meta
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from tools.layer_kinds import kind_rules

_HEADS = re.compile(r"heads?$|n_head$|_heads_")
_WIDTH = re.compile(
    r"hidden_size$|d_model$|n_embd$|^dim$|embed_dim$|embedding_dim$|embedding_size$|width$|^emb_dim$"
)
_DIM = re.compile(r"head_dim|head_size|rotary_dim|rope_dim")
_MANY, _FEW = (
    re.compile(r"(num|routed|local)_experts$"),
    re.compile(r"experts_per_tok|moe_top_?k|moe_k$|^top_k$"),
)
_MANY_GROUPS, _FEW_GROUPS = re.compile(r"^n_group$|num_expert_group"), re.compile(r"topk_group$")
_STATE_GROUPS = re.compile(r"n_?groups$|num_groups$")
_OTHER_GROUPS = re.compile(r"o_groups$|hash_functions$|shrink_ratio$")
_IMAGE, _PATCH = re.compile(r"image_size$"), re.compile(r"patch_size$")
_ODD, _FACTOR = (
    re.compile(r"kernel_size$|buckets$|window|^local_attention$|^block_size$"),
    re.compile(r"expand|head_dim$"),
)
_FIELD = re.compile(
    "|".join(
        one.pattern
        for one in (
            *(_HEADS, _WIDTH, _DIM, _MANY, _FEW, _MANY_GROUPS, _FEW_GROUPS, _STATE_GROUPS, _OTHER_GROUPS),
            *(_PATCH, _ODD, _FACTOR),
        )
    )
)
_SKIPPED = re.compile(
    r"token(?!$)|vocab|position|layers?$|n_layer|intermediate|ffn|_id$|^max_|labels|classes"
)
_SHALLOW: tuple[dict[str, Any], ...] = ({"num_hidden_layers": 4}, {"num_hidden_layers": 6}, {})
_NEEDED: dict[str, dict[str, Any]] = {  # caches need a layer of attention; some fields have no default
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "dots1": {"n_shared_experts": 1, "n_routed_experts": 16, "num_experts_per_tok": 4},
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "clip_qkv": 8}},
    "bamba": {"attn_layer_indices": [1]},
    "lfm2_moe": {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"]},
    "granitemoehybrid": {
        "num_hidden_layers": 3,
        "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    },
}
_CALLS = (Call(2, 7), Call(1, 67))
_ENCODED = (
    Call(2, 7, encoder_tokens=9, new_encoder_tokens=9),
    Call(1, 35, encoder_tokens=35, new_encoder_tokens=35),
)
_MOST = 120.0  # seconds for one model type
_DRAWN, _FRESH = 14, 12  # configs with several changed fields, to learn from and to check with


class Sample(NamedTuple):
    """A config's fields, and if its forward pass runs."""

    raw: dict[str, Any]
    values: dict[str, int]
    runs: bool
    reason: str


class Learned(NamedTuple):
    """The conditions of a model type, and how fresh configs agree with them.

    ``missed`` and ``false`` are configs that fail without a warning, and that run with one.
    """

    rules: list[str]
    samples: int
    agreed: tuple[int, int]  # that run without a warning, and that fail with one
    missed: list[Sample]
    false: list[Sample]
    unexplained: list[Sample]


class Subject:
    """One class of a model type, at a config with few layers that runs."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.reason = spec, "no config is accepted"
        self.architecture = _architecture(spec)
        self.base = next((raw for raw in self._bases() if self._works(raw)), None)
        self.fields = list(self._fields()) if self.base else []

    def _bases(self) -> Iterator[dict[str, Any]]:
        for shallow in _SHALLOW:
            yield {"model_type": self.spec.model_type, **shallow, **_NEEDED.get(self.spec.model_type, {})}

    def _works(self, raw: dict[str, Any]) -> bool:
        found = self.sample(raw)
        self.reason = found.reason if found else self.reason
        return found is not None and found.runs

    def works(self, raw: Mapping[str, Any]) -> bool | None:
        """Return True if transformers builds and runs a config; None if archspec refuses it."""
        try:
            _ = archspec.load(raw, self.architecture).params
        except ArchspecError:
            return None
        return self._works(dict(raw))

    def _fields(self) -> Iterator[str]:
        assert self.base is not None  # asked first
        scope = Scope(self.spec, self.base)
        for name in self.spec.fields:
            if _FIELD.search(name) and not _SKIPPED.search(name) and _size(scope, name):
                yield name

    def sample(self, raw: dict[str, Any]) -> Sample | None:
        """A config that both sides build; None for any other."""
        try:
            _ = archspec.load(raw, self.architecture).params
            scope = Scope(self.spec, raw)
            values = {name: size for name in self.spec.fields if (size := _size(scope, name))}
            model = instance(self.architecture, raw, self.spec.model_type)
        except (ArchspecError, Refused, Unavailable):
            return None
        reason = failure(model)
        return Sample(raw, values, not reason, reason)

    def singles(self) -> Iterator[dict[str, Any]]:
        """Configs with one field changed."""
        assert self.base is not None  # fields are known
        own = Scope(self.spec, self.base)
        for name in self.fields:
            for value in _values(own.get(name)):
                yield {**self.base, name: value}

    def mixed(self, draw: random.Random, count: int) -> Iterator[dict[str, Any]]:
        """Configs with two to four fields changed."""
        assert self.base is not None  # fields are known
        own = Scope(self.spec, self.base)
        sizes = [own.get(name) for name in self.fields]
        for _ in range(count if len(sizes) > 1 else 0):
            chosen = draw.sample(self.fields, min(len(self.fields), draw.randint(2, 3)))
            yield {**self.base, **{name: _other(draw, own.get(name), sizes) for name in chosen}}


def _architecture(spec: Spec) -> str:
    ends = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "ForMaskedLM", "ForImageClassification")
    named = (name for end in ends for name in spec.architectures if name.endswith(end))
    return next(named, next(iter(spec.architectures)))


def _size(scope: Scope, name: str) -> int:
    """Return a field's value if it is a positive number, else 0."""
    try:
        value = scope.get(name)
    except ArchspecError:
        return 0
    return value if type(value) is int and value > 0 else 0


def _values(own: int) -> list[int]:
    near = [own + 1, 2 * own, 3 * own, own // 2, own // 2 + 1, 1]
    return [value for value in dict.fromkeys(near) if value > 0 and value != own]


def _other(draw: random.Random, own: int, sizes: Sequence[int]) -> int:
    return max(1, draw.choice([*_values(own), 2 * own, own // 2, draw.choice(sizes)]))


def failure(model: Any) -> str:
    """Why a forward pass fails; '' for one that runs."""
    try:
        if "input_ids" in _taken(model):
            for call in _ENCODED if encodes(model) else _CALLS:
                output_of(model, call, nullcontext())
        else:
            with on_meta():
                model(**_inputs(model))
    except Exception as error:  # whatever a forward pass raises
        return f"{error}"[:200] or type(error).__name__
    return ""


def _taken(model: Any) -> set[str]:
    import inspect

    return set(inspect.signature(model.forward).parameters)


def _inputs(model: Any) -> dict[str, Any]:
    """Inputs for models of images and of audio."""
    import torch

    name, config = model.main_input_name, model.config
    if name == "pixel_values":
        size = getattr(config, "image_size", 224)
        height, width = size if isinstance(size, list | tuple) else (size, size)
        channels = getattr(config, "num_channels", 3)
        return {name: torch.zeros(1, channels, height, width, dtype=torch.bfloat16)}
    if name == "input_values":
        return {name: torch.zeros(1, 16000, dtype=torch.bfloat16)}
    raise ValueError(f"no inputs are known for {name}")


def candidates(fields: Sequence[str], base: Mapping[str, int]) -> Iterator[str]:
    """The conditions that may explain failures, the simplest first; all hold at a config that runs."""

    def named(pattern: re.Pattern[str]) -> list[str]:
        return [name for name in fields if pattern.search(name)]

    heads = sorted(named(_HEADS), key=lambda name: "attention" not in name)
    state_heads = [name for name in heads if not re.search("attention|key_value|kv", name)]
    asking = [name for name in heads if not re.search("key_value|kv", name)]
    widths, sizes = named(_WIDTH), named(_DIM)
    shared = [(one, two) for one, two in permutations(heads, 2) if _kind(one) == _kind(two)]
    groups = [*product(named(_MANY), named(_MANY_GROUPS)), *product(state_heads, named(_STATE_GROUPS))]
    groups += [
        *product((*widths, *heads, *sizes), named(_OTHER_GROUPS)),
        *product(named(_IMAGE), named(_PATCH)),
    ]
    found = [f"{one} % {two} == 0" for one, two in [*shared, *groups, *product(widths, asking)] if one != two]
    found += [f"{few} <= {many}" for few, many in product(named(_FEW), named(_MANY))]
    found += [f"{few} <= {many}" for few, many in product(named(_FEW_GROUPS), named(_MANY_GROUPS))]
    found += [f"{one} // {two} == 1" for one, two in shared]
    found += [
        f"{one} >= {two}" for one, two in [*permutations(sizes, 2), *product(named(_IMAGE), named(_PATCH))]
    ]
    found += [f"{one} == {two}" for one, two in [*combinations(widths, 2), *combinations(sizes, 2)]]
    for width, number, size in product((*widths, *sizes), heads, sizes):
        if base[width] == base[number] * base[size]:
            found.append(f"{width} == {number} * {size}")
    found += [f"{one} == {two} + {three}" for one, two, three in permutations(sizes, 3) if two < three]
    found += [f"{one} == 2 * {two}" for one, two in permutations(widths, 2)]
    found += [f"{one} % 2 == {rest}" for one in (*sizes, *named(_ODD), *widths) for rest in (0, 1)]
    found += [f"{one} % 2 == 0 or {one} == 1" for one in sizes]
    if "head_dim" not in fields:  # else it may be given
        quotients = [f"{one} // {two}" for one, two in product(widths, asking)]
        found += [f"{one} % 2 == 0" for one in quotients] + [
            f"{one} % 2 == 0 or {one} == 1" for one in quotients
        ]
    found += [f"{one} * {two} % {three} == 0" for one, two, three in product(widths, named(_FACTOR), heads)]
    found += [
        f"{one} * {two} % {three} == 0" for one, two, three in product(heads, sizes, named(_OTHER_GROUPS))
    ]
    found += [
        f"{one} % ({two} * {three}) == 0" for one, two, three in product(widths, heads, named(_OTHER_GROUPS))
    ]
    found += [f"{one} > 1" for one in (*sizes, *named(_ODD), *heads, *widths)]
    return (rule for rule in found if holds(rule, base))


def _kind(heads: str) -> str:
    """Return the name of some heads without its word for queries, keys or values."""
    return re.sub(r"(attention|key_value|kv|key|value|query)_", "", heads)


def holds(rule: str, values: Mapping[str, int]) -> bool:
    """Return True if a condition holds, or does not apply because a size is missing."""
    names = set(re.findall(r"[a-z_]\w*", rule)) - {"or"}
    return not names <= values.keys() or bool(eval(rule, {}, dict(values)))  # made above


def learned(fields: Sequence[str], base: Mapping[str, int], samples: Sequence[Sample]) -> list[str]:
    """The shortest list of conditions that most failing configs violate, and no running one."""
    good = [one.values for one in samples if one.runs]
    left = [one.values for one in samples if not one.runs]
    sound = [rule for rule in candidates(fields, base) if all(holds(rule, values) for values in good)]
    rules: list[str] = []
    while left:
        covered = {rule: sum(not holds(rule, values) for values in left) for rule in sound}
        best = max(sound, key=lambda rule: covered[rule], default="")  # of equals the first, the simplest
        if not best or not covered[best]:
            break
        rules.append(best)
        left = [values for values in left if holds(best, values)]
    return rules


def learn(subject: Subject, seed: int = 0) -> Learned:
    """The conditions on numbers of one model type."""
    draw, start = random.Random(f"{seed} {subject.spec.model_type}"), time.monotonic()
    assert subject.base is not None  # asked first

    def taken(raws: Iterator[dict[str, Any]], share: float) -> list[Sample]:
        found = []
        for raw in raws:
            if time.monotonic() - start > share * _MOST:
                break
            found += [one] if (one := subject.sample(raw)) is not None else []
        return found

    base = subject.sample(subject.base)
    assert base is not None  # it was built before
    samples = [base, *taken(subject.singles(), 0.5), *taken(subject.mixed(draw, _DRAWN), 0.75)]
    fields = [name for name in subject.fields if name in base.values]
    rules = learned(fields, base.values, samples)
    fresh = taken(subject.mixed(draw, _FRESH), 1.0)
    if any(not _warned(rules, one) for one in fresh if not one.runs) or any(
        _warned(rules, one) for one in fresh if one.runs
    ):  # learn from these, too, and check with others
        samples += fresh
        rules = learned(fields, base.values, samples)
        fresh = taken(subject.mixed(draw, _FRESH), 1.5)
    agreed = (
        sum(one.runs and not _warned(rules, one) for one in fresh),
        sum(not one.runs and _warned(rules, one) for one in fresh),
    )
    missed = [one for one in fresh if not one.runs and not _warned(rules, one)]
    false = [one for one in fresh if one.runs and _warned(rules, one)]
    unexplained = [one for one in samples if not one.runs and not _warned(rules, one)]
    return Learned(rules, len(samples), agreed, missed, false, unexplained)


def _warned(rules: Sequence[str], sample: Sample) -> bool:
    return not all(holds(rule, sample.values) for rule in rules)


def main(arguments: Sequence[str]) -> int:
    """Print the conditions that some specs lack, or all."""
    seed = int(arguments[arguments.index("--seed") + 1]) if "--seed" in arguments else 0
    named = [one for one in arguments if not one.startswith("--") and not one.isdecimal()]
    for model_type in named or shipped().model_types():
        spec = shipped().load(model_type)
        if not spec.architectures:
            continue  # its classes are parts of another model type
        subject = Subject(spec)
        if subject.base is None:
            print(f"{model_type}: not run: {subject.reason}", flush=True)
            continue
        found = learn(subject, seed)
        print(
            f"{model_type}: {found.rules} from {found.samples}; fresh: {found.agreed[0]} run,"
            f" {found.agreed[1]} fail, {len(found.missed)} missed, {len(found.false)} false",
            flush=True,
        )
        for title, samples in (("missed", found.missed), ("false", found.false), ("open", found.unexplained)):
            for one in samples[:3]:
                print(f"    {title}: {one.raw} {one.reason}", flush=True)
        rules = [*found.rules, *kind_rules(spec, subject.base, subject.works)]
        known = {condition.text for _, condition in spec.runnable}
        print(*(f"    - {rule}" for rule in rules if rule not in known), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
