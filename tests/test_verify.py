"""Every described class is what transformers builds; and what verify says when one is not.

ARCHSPEC_VERIFY_SAMPLES=20 sets the number of random configs of each class (3).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

from archspec import campaign, coverage, library
from archspec.cli import main
from archspec.errors import Place
from archspec.library import load
from archspec.oracle import Refused, Unavailable, config_of, transformers_rows
from archspec.places import trail
from archspec.pool import Failure, spread
from archspec.sampling import Sampler
from archspec.scope import Scope
from archspec.spec import Spec
from archspec.tree import Builder
from archspec.verify import Difference, verify, verify_spec

SAMPLES = int(os.environ.get("ARCHSPEC_VERIFY_SAMPLES", "3"))
PAIRS = [(model_type, name) for model_type, names in campaign.everything().items() for name in names]


@pytest.mark.parametrize(("model_type", "architecture"), PAIRS, ids=lambda part: part)
def test_exact(model_type: str, architecture: str) -> None:
    outcome = verify(model_type, architecture, SAMPLES)
    assert [shown(difference) for difference in outcome.differences] == []
    assert outcome.compared >= SAMPLES or outcome.unavailable


def shown(difference: Difference) -> str:
    where = difference.places[0] if difference.places else "?"
    what = f"transformers {difference.expected}, the spec {difference.found}"
    return f"{where}: {difference.kind} {difference.name}: {what} at {difference.config}"


def altered(spec: Spec, old: str, new: str, times: int = 1) -> Spec:
    """The spec of a text with one thing changed."""
    from archspec.errors import Source
    from archspec.spec_parser import parse_spec

    assert spec.source.text.count(old) == times, f"{old!r} is not in {spec.source.name} {times} times"
    text = Source(spec.source.name, spec.source.text.replace(old, new))
    return parse_spec(text, lambda name, place: load(name))


def line(spec: Spec, start: str) -> str:
    """`file:line` of the first line of a spec that starts so."""
    lines = spec.source.text.splitlines()
    return f"{spec.source.name}:{next(number for number, text in enumerate(lines, 1) if text.strip().startswith(start))}"


SLIPS = [
    ("bert", "BertModel", "query: Linear(hidden_size, hidden_size)", "query: Linear(hidden_size, hidden_size + 1)", "shape", "query:"),
    ("bert", "BertModel", "Linear(intermediate_size, hidden_size)", "Linear(intermediate_size, hidden_size, bias=False)", "missing", "dense: Linear(intermediate"),
    ("bert", "BertModel", "    pooler: BertPooler() if add_pooling_layer else None\n", "", "missing", "BertModel(add"),
    ("bert", "BertModel", "range(num_hidden_layers)", "range(num_hidden_layers + 1)", "extra", "layer: BertLayer() for"),
    ("bert", "BertModel", "max_position_embeddings: 512", "max_position_embeddings: 513", "default", "max_position_embeddings: 513"),
    ("bert", "BertModel", "  is_decoder: false\n", "", "refused", "require: is_decoder"),
    ("gpt2", "GPT2LMHeadModel", "    tied: {lm_head.weight: transformer.wte.weight}\n", "", "tie", "GPT2LMHeadModel:"),
    ("gpt2", "GPT2Model", "max_position_embeddings: n_positions, ", "", "alias", "n_positions:"),
    ("llama", "LlamaModel", "  - head_dim % 2 == 0 or head_dim < 5\n", "", "accepted", "# Llama"),
    ("llama", "LlamaForCausalLM", "  mlp_bias: false\nfixed", "", "", ""),
    ("detr", "DetrModel", ".requires_grad_(False)", "", "frozen", ""),
]  # fmt: skip


@pytest.mark.parametrize(("model_type", "architecture", "old", "new", "kind", "start"), SLIPS, ids=lambda value: None)
def test_a_slip_is_found_and_its_line_named(model_type: str, architecture: str, old: str, new: str, kind: str, start: str) -> None:
    spec = load(model_type)
    wrong = altered(spec, old, new)
    outcome = verify_spec(wrong, architecture, 12)
    found = [difference for difference in outcome.differences if difference.kind == kind]
    assert outcome.verdict == "wrong"
    assert found, [shown(difference) for difference in outcome.differences][:5]
    if start:
        assert line(wrong, start) in {place.rpartition(":")[0] for place in found[0].places}
