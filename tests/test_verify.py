"""Every described class is what transformers builds; and what verify says when one is not.

The first model types are held at twenty random configs and at one for each branch and condition, the others at three;
ARCHSPEC_VERIFY_SAMPLES=20 is the full depth for all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archspec.cli.main import main
from archspec.configs.scope import Scope
from archspec.errors import Place
from archspec.oracle import Refused, Unavailable, built, config_of, spec_rows, transformers_rows
from archspec.specs import library
from archspec.specs.index import dependents
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors
from archspec.verify import campaign, coverage
from archspec.verify.comparison import Difference, counted
from archspec.verify.refusals import refused_places, refusing
from archspec.verify.trail import trail
from archspec.verify.verifier import Verifier, verify, verify_spec

pytestmark = pytest.mark.oracle

SAMPLES = int(os.environ.get("ARCHSPEC_VERIFY_SAMPLES", "3"))
FIRST = {
    "albert",
    "bart",
    "bert",
    "bloom",
    "clip",
    "deepseek_v3",
    "detr",
    "distilbert",
    "gemma2",
    "gemma3",
    "gpt2",
    "gpt_neox",
}
FIRST |= {
    "jamba",
    "llama",
    "llava",
    "mamba",
    "mistral",
    "mixtral",
    "opt",
    "qwen2",
    "qwen3_moe",
    "roberta",
    "swin",
    "t5",
    "vit",
}
FIRST |= {"wav2vec2", "whisper"}
PAIRS = [(model_type, name) for model_type, names in campaign.everything().items() for name in names]


@pytest.mark.parametrize(("model_type", "architecture"), PAIRS, ids=lambda part: part)
def test_exact(model_type: str, architecture: str) -> None:
    samples = max(SAMPLES, 20) if model_type in FIRST else SAMPLES
    outcome = verify(model_type, architecture, samples)
    assert [shown(difference) for difference in outcome.differences] == []
    assert outcome.compared >= samples or outcome.unavailable


def shown(difference: Difference) -> str:
    where = difference.places[0] if difference.places else "?"
    what = f"transformers {difference.expected}, the spec {difference.found}"
    return f"{where}: {difference.kind} {difference.name}: {what} at {difference.config}"


def altered(spec: Spec, old: str, new: str, times: int = 1) -> Spec:
    """The spec of a text with one thing changed."""
    from archspec.errors import Source
    from archspec.specs.parser import parse_spec

    shared = {file.stem: file for file in (Path(shipped().folder) / "shared").glob("*.yaml")}
    holds = [name for name, file in shared.items() if file.read_text().count(old) == times]
    here = spec.source.text.count(old) == times
    assert here or len(holds) == 1, f"{old!r} is not in {spec.source.name}, or one shared part, {times} times"

    def loaded(name: str, _: object) -> Spec:
        if name not in shared:
            return shipped().load(name)
        text = shared[name].read_text()
        return parse_spec(
            Source(f"shared/{name}.yaml", text.replace(old, new) if not here and name in holds else text),
            loaded,
            spec.library,
        )

    text = spec.source.text.replace(old, new) if here else spec.source.text
    return parse_spec(Source(spec.source.name, text), loaded, spec.library)


def line(spec: Spec, start: str) -> str:
    """`file:line` of the first line that starts so, in a spec or in a part that it uses."""
    sources = dict.fromkeys((spec.source, *(module.place.source for module in spec.modules.values())))
    lines = (
        (source.name, n, text) for source in sources for n, text in enumerate(source.text.splitlines(), 1)
    )
    return next(f"{name}:{number}" for name, number, text in lines if text.strip().startswith(start))


SLIPS: dict[str, tuple[str, str, str, str, str, str]] = {
    "a size": (
        "bert",
        "BertModel",
        "query: Linear(hidden_size, hidden_size)",
        "query: Linear(hidden_size, 7)",
        "shape",
        "query:",
    ),
    "a bias": (
        "gpt2",
        "GPT2Model",
        "ln_f: LayerNorm(n_embd)",
        "ln_f: LayerNorm(n_embd, bias=False)",
        "missing",
        "ln_f:",
    ),
    "an attribute": (
        "bert",
        "BertModel",
        "    token_type_embeddings: Embedding(type_vocab_size, size)\n",
        "",
        "missing",
        "TextEmbeddings(size):",
    ),
    "a loop": (
        "bert",
        "BertModel",
        "range(num_hidden_layers)",
        "range(num_hidden_layers + 1)",
        "extra",
        "layer: BertLayer() for",
    ),
    "a branch": (
        "bert",
        "BertModel",
        "BertPooler() if add_pooling_layer else None",
        "None",
        "missing",
        "pooler: None",
    ),
    "a default": (
        "bert",
        "BertModel",
        "max_position_embeddings: 512",
        "max_position_embeddings: 513",
        "default",
        "max_position_emb",
    ),
    "a name": ("gpt2", "GPT2Model", "max_position_embeddings: n_positions, ", "", "alias", "n_positions:"),
    "a tie": (
        "llama",
        "LlamaForCausalLM",
        "    tied: {lm_head.weight: model.embed_tokens.weight}\n",
        "",
        "tie",
        "GenericForCausalLM(base):",
    ),
    "frozen": (
        "whisper",
        "WhisperModel",
        ".requires_grad_(False)",
        "",
        "frozen",
        "embed_positions: Embedding(max_source",
    ),
    "a condition": (
        "llama",
        "LlamaModel",
        "  - head_dim % 2 == 0 or head_dim < 5\n",
        "",
        "accepted",
        "# Llama",
    ),
    "too strict": (
        "llama",
        "LlamaModel",
        "head_dim % 2 == 0 or head_dim < 5",
        "head_dim % 4 == 0",
        "refused",
        "- head_dim % 4",
    ),
    "a buffer": (
        "bloom",
        "BloomModel",
        "word_embeddings: Embedding(vocab_size, hidden_size)",
        "word_embeddings: Buffer(vocab_size, hidden_size)",
        "missing",
        "word_embeddings:",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_found_and_its_line_named(slip: str) -> None:
    model_type, architecture, old, new, kind, start = SLIPS[slip]
    wrong = altered(shipped().load(model_type), old, new)
    outcome = verify_spec(wrong, architecture, 12)
    assert outcome.verdict == "wrong"
    found = [difference for difference in outcome.differences if difference.kind == kind]
    assert found, [shown(difference) for difference in outcome.differences][:5]
    assert line(wrong, start) in {place.rpartition(":")[0] for place in found[0].places}


def test_a_field_that_the_spec_does_not_mention() -> None:
    spec = altered(
        altered(shipped().load("llama"), "  mlp_bias: false\n", ""),
        "GatedMLP(intermediate_size, mlp_bias)",
        "GatedMLP(intermediate_size)",
    )
    outcome = verify_spec(spec, "LlamaModel", 3)
    assert {(difference.kind, difference.name) for difference in outcome.differences} == {
        ("unmentioned", "mlp_bias")
    }
    assert outcome.differences[0].config["mlp_bias"] is True


def test_a_fixed_field_that_is_read_after_all() -> None:
    spec = altered(
        altered(shipped().load("llama"), "  mlp_bias: false\n", ""),
        "require:\n",
        "fixed:\n  mlp_bias: false\nrequire:\n",
    )
    [difference] = verify_spec(spec, "LlamaModel", 3).differences
    assert (difference.kind, difference.name) == ("unmentioned", "mlp_bias")
    assert difference.places[0].startswith(line(spec, "mlp_bias: false"))


def test_a_difference_is_shown_at_the_smallest_config() -> None:
    spec = altered(
        shipped().load("bert"),
        "BertAttention(is_cross_attention=True) if add_cross_attention else None",
        "None",
    )
    configs = [
        difference.config
        for difference in verify_spec(spec, "BertModel", 12).differences
        if difference.kind == "missing"
    ]
    assert {"model_type": "bert", "add_cross_attention": True, "is_decoder": True} in configs


def test_a_zero_that_transformers_takes_for_nothing_given_is_found() -> None:
    """wav2vec 2.0's config has `output_hidden_size or hidden_size`; only an adapter, off by default, has tensors of it."""
    from archspec.verify.defaults import settings_differences

    spec = shipped().load("wav2vec2")
    assert settings_differences(spec) == []
    field = spec.fields["output_hidden_size"]
    altered = spec._replace(fields={**spec.fields, field.name: field._replace(falsy=False)})
    (found,) = settings_differences(altered)
    assert (found.name, found.expected, found.found, found.places[0]) == (
        "output_hidden_size for 0",
        "768",
        "0",
        field.place,
    )


def test_a_spec_that_transformers_cannot_confirm_is_not_exact_by_default() -> None:
    outcome = verify_spec(
        altered(shipped().load("llama"), "- head_dim % 2 == 0 or head_dim < 5", "- hidden_size == 4096"),
        "LlamaModel",
        5,
    )
    assert outcome.verdict == "wrong"


def test_the_same_seed_draws_the_same_configs() -> None:
    code = (
        "import json; from archspec.specs.library import shipped; from archspec.verify.generate.sampling import Sampler\n"
        "for name in ('bert', 'wav2vec2', 'swin', 'llava'):\n"
        "    sampler = Sampler(shipped().load(name), 5)\n"
        "    for _ in range(20): print(json.dumps(sampler.sample())); sampler.accept()"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != b""


@pytest.mark.parametrize(
    "model_type", ["bert", "gpt2", "t5", "wav2vec2", "swin", "clip", "mixtral", "jamba", "deepseek_v3"]
)
def test_valid_configs_show_every_side_of_a_spec(model_type: str) -> None:
    """At 20 samples: each flag both ways, nulls, one layer, odd sizes, lists of other lengths."""
    spec = shipped().load(model_type)
    verifier = Verifier(spec, spec.architectures[0], 20, 0)
    assert verifier.run().verdict == "exact"
    assert len(verifier.valid) > 20
    scopes = [Scope(spec, raw) for raw in verifier.valid]
    missing = []
    for field in spec.fields.values():
        values = [scope.get(field.name) for scope in scopes]
        given = [raw.get(field.name, ...) for raw in verifier.valid]
        default = values[0]
        if isinstance(default, bool) and {True, False} - set(values):
            missing.append(f"{field.name} both ways")
        if "None" in field.types and None not in given and builds(spec, {field.name: None}):
            missing.append(f"{field.name} null")
        if field.name.endswith("layers") and isinstance(default, int) and 1 not in values:
            missing.append(f"{field.name} = 1")
        if (
            isinstance(default, list)
            and len({len(value) for value in values if value}) == 1
            and not field.computed
        ):
            missing.append(f"{field.name} of another length")
        if (
            isinstance(default, int)
            and not isinstance(default, bool)
            and len({str(value) for value in values}) < 2
        ):
            missing.append(f"{field.name} of another size")
    assert missing == []
    assert any(
        isinstance(value, int) and value > 1 and value % 2 for raw in verifier.valid for value in numbers(raw)
    )


def builds(spec: Spec, settings: dict[str, Any]) -> bool:
    try:
        transformers_rows(spec.architectures[0], {"model_type": spec.model_type, **settings}, spec.model_type)
    except Refused:
        return False
    return True


def numbers(raw: dict[str, Any]) -> list[Any]:
    return [
        item for value in raw.values() for item in (numbers(value) if isinstance(value, dict) else [value])
    ]


def test_what_this_machine_lacks_is_no_refusal() -> None:
    with pytest.raises(Unavailable, match="timm"):
        transformers_rows("DetrModel", {"model_type": "detr"}, "detr")
    with pytest.raises(Unavailable, match="no config class"):
        config_of("no_such_type", {})
    with pytest.raises(Refused, match="multiple of the number of attention heads") as refusal:
        transformers_rows("BertModel", {"model_type": "bert", "hidden_size": 25}, "bert")
    assert refusal.value.owners[0] == "BertSelfAttention"


def places(model_type: str, architecture: str, name: str) -> list[Place]:
    return trail(
        Builder(Scope(shipped().load(model_type), {"model_type": model_type})).build(architecture), name
    )


@pytest.mark.parametrize(
    ("model_type", "architecture", "name", "start"),
    [
        ("bert", "BertModel", "encoder.layer.3.attention.self.query.weight", "query:"),
        ("bert", "BertModel", "encoder.layer.99", "layer: BertLayer() for"),
        ("bert", "BertModel", "encoder.layer.0.crossattention.self.query.weight", "crossattention:"),
        ("bert", "BertModel", "embeddings.no_such.weight", "TextEmbeddings(size):"),
        ("bert", "BertLMHeadModel", "cls.predictions.bias", "bias: Parameter"),
        ("t5", "T5Model", "encoder.block.0.layer.1.DenseReluDense.wi.weight", "wi: Linear"),
        ("llama", "LlamaForCausalLM", "model.layers.0.mlp.up_proj.bias", "up_proj:"),
        ("nllb-moe", "NllbMoeModel", "encoder.layers.3.ffn.experts.expert_5.fc1.weight", "fc1:"),
    ],
)
def test_a_tensor_leads_to_its_line(model_type: str, architecture: str, name: str, start: str) -> None:
    place = places(model_type, architecture, name)[-1]
    assert place.source.line(place.line).strip().startswith(start)


def test_a_class_that_has_no_constructor_of_its_own_is_told_with_its_parent() -> None:
    raw = {"model_type": "data2vec-vision", "num_attention_heads": 7, "num_hidden_layers": 1}
    with pytest.raises(Refused) as refusal:
        transformers_rows("Data2VecVisionModel", raw, "data2vec-vision")
    assert set(refusal.value.owners[:2]) == {"Data2VecVisionSelfAttention", "Data2VecVisionSdpaSelfAttention"}


@pytest.mark.parametrize(
    ("owners", "start"),
    [
        (
            ("Linear", "BertSelfAttention", "BertAttention", "BertLayer"),
            "BertAttention(is",
        ),  # the outer class
        (
            ("Linear", "BertSelfAttention", "BertAttention", "BertLayer"),
            "attention: BertAttention",
        ),  # and the way to it
        (
            ("BertCrossAttention", "BertEncoder"),
            "BertEncoder:",
        ),  # of a class that is not built, where it should be
        (("BertSparseAttention", "BertAttention"), "BertSelfAttention:"),  # or the one that stands for it
    ],
)
def test_a_class_that_refuses_leads_to_its_lines(owners: tuple[str, ...], start: str) -> None:
    spec = shipped().load("bert")
    found = refused_places(spec, Builder(Scope(spec, {"model_type": "bert"})).build("BertModel"), owners)
    assert any(place.source.line(place.line).strip().startswith(start) for place in found)


@pytest.mark.parametrize(
    ("model_type", "architecture", "old", "new", "raw", "start"),
    [
        (  # a local name that is handed on as an argument
            "perceiver",
            "PerceiverModel",
            "v: v_channels if v_channels is not None else qk",
            "v: v_channels",
            {"v_channels": None},
            "v: v_channels",
        ),
        (  # a fixed value that another is computed from, before anything is built
            "videomae",
            "VideoMAEModel",
            "patch_size if is_list(patch_size) else [patch_size, patch_size]",
            "patch_size",
            {},
            "patch: ",
        ),
    ],
)
def test_a_refusal_leads_to_what_was_read(
    model_type: str, architecture: str, old: str, new: str, raw: dict[str, Any], start: str
) -> None:
    wrong = altered(shipped().load(model_type), old, new)
    config = {"model_type": model_type, **raw}
    count = counted(wrong, architecture, config)
    assert count.error is not None
    found = refusing(wrong, architecture, config, count.tree, count.error)
    assert any(place.source.line(place.line).strip().startswith(start) for place in found)


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert main(["verify", "MistralModel", "--samples", "2", "--seed", "7", "--json", str(report)]) == 0
    assert "1 exact, 0 wrong: 3 configs compared" in capsys.readouterr().out
    found = json.loads(report.read_text())
    assert (found["samples"], found["seed"], found["totals"]) == (
        2,
        7,
        {"exact": 1, "wrong": 0, "unavailable": 0},
    )
    assert found["transformers"] == "5.23.0"
    [outcome] = found["architectures"]
    assert (outcome["architecture"], outcome["verdict"], outcome["compared"], outcome["differences"]) == (
        "MistralModel",
        "exact",
        3,
        [],
    )


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder of specs of one's own: a wrong one, a right one that extends it, and one that is not well formed."""
    folder = tmp_path / "formulas"
    folder.mkdir()
    (tmp_path / "docs").mkdir()
    shutil.copytree(Path(shipped().folder) / "shared", folder / "shared")
    part = folder / "shared" / "encoder.yaml"
    part.write_text(
        part.read_text().replace("query: Linear(hidden_size, hidden_size)", "query: Linear(hidden_size, 7)")
    )
    (folder / "bert.yaml").write_text(shipped().load("bert").source.text)
    (folder / "gpt2.yaml").write_text(shipped().load("gpt2").source.text)
    (folder / "llama.yaml").write_text("model_type: llama\nmodules: [\n")
    monkeypatch.setattr(library, "folder", lambda: str(folder))
    shipped.cache_clear()
    yield folder
    shipped.cache_clear()


def test_a_difference_is_told_by_its_line_and_ends_in_1(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "BertModel", "GPT2Model", "--samples", "1", "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    start = next(text for text in out.splitlines() if "shape" in text)
    part = checkout / "shared" / "encoder.yaml"
    number = next(n for n, text in enumerate(part.read_text().splitlines(), 1) if "query:" in text)
    assert (
        start.startswith(f"{os.path.relpath(part)}:{number}: shape")
        or f"encoder.yaml:{number}: shape" in start
    )
    assert "encoder.layer.0.attention.self.query.weight: transformers (768, 768), the spec (7, 768)" in out
    assert "1 exact, 1 wrong" in out


def test_all_goes_on_past_a_spec_that_is_not_well_formed(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "bert.yaml").unlink()
    assert main(["verify", "--all", "--samples", "0", "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    assert "llama.yaml:2" in out or "llama.yaml:3" in out
    assert "6 exact, 1 wrong" in out


def test_changed_takes_what_differs_from_git_and_what_uses_it(checkout: Path) -> None:
    def git(*arguments: str) -> None:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, cwd=checkout, check=True, capture_output=True)

    (checkout / "llama.yaml").unlink()
    (checkout / "child.yaml").write_text("model_type: child\nextends: bert\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    assert campaign.changed() == {}
    (checkout / "bert.yaml").write_text((checkout / "bert.yaml").read_text() + "# changed\n")
    assert sorted(campaign.changed()) == ["bert", "child"]
    git("commit", "-am", "two")
    (checkout / "own.yaml").write_text("model_type: own\narchitectures:\n  OwnModel:\n    a: Linear(1, 1)\n")
    assert sorted(campaign.changed()) == ["own"]
    assert sorted(campaign.changed("HEAD~1")) == ["bert", "child", "own"]


def test_dependents_follow_parents_parts_and_shared_files() -> None:
    entries = shipped().entries()
    assert {"mistral", "mixtral"} <= dependents({"llama"}, entries)
    assert {"clip", "llava"} <= dependents({"clip_vision_model"}, entries)
    assert "llama" in dependents({"heads"}, entries)
    assert "detr" in dependents({"resnet"}, entries)  # only one of two that a condition chooses between
    assert dependents({"gpt2"}, entries) & {"bert", "llama"} == set()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["verify"], "say what to verify"),
        (["verify", "BertModell"], "did you mean BertModel"),
        (["verify", "bert", "--all"], "say what to verify"),
        (["verify", "bert", "--samples", "-1"], "is not negative"),
        (["verify", "timm_backbone"], "timm_backbone is not counted"),
        (["verify", "t5gemma2_decoder"], "t5gemma2_decoder is described as a part of other models only"),
        (["verify", "MistralModel", "--samples", "0", "--json", "/no/such/folder/x.json"], "No such file"),
    ],
)
def test_bad_input_ends_in_2(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


def recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[coverage.Pair], coverage.Pair | None]
) -> list[str]:
    """What is stale after a change of what docs/coverage.json holds."""
    from archspec.oracle import mapped, versions

    monkeypatch.setattr(
        coverage, "paths", lambda: (str(tmp_path / "coverage.json"), str(tmp_path / "coverage.md"))
    )
    wanted = coverage._described(mapped())
    pairs = [
        coverage.Pair(*key, autos, "exact" if key in wanted else "undescribed", digest=wanted.get(key, ""))
        for key, autos in mapped().items()
    ]
    coverage.write(
        {**versions(), "samples": 20, "seed": 0}, [new for pair in pairs if (new := change(pair)) is not None]
    )
    return coverage.stale()


def test_coverage_is_fresh_until_a_pair_or_a_spec_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only(
        name: str, new: Callable[[coverage.Pair], coverage.Pair | None]
    ) -> Callable[[coverage.Pair], coverage.Pair | None]:
        return lambda pair: new(pair) if pair.architecture == name else pair

    assert recorded(tmp_path, monkeypatch, lambda pair: pair) == []
    assert (
        "bert/BertModel is not in docs"
        in recorded(tmp_path, monkeypatch, only("BertModel", lambda pair: None))[0]
    )
    assert (
        "another spec"
        in recorded(tmp_path, monkeypatch, only("BertModel", lambda pair: pair._replace(digest="0")))[0]
    )
    assert (
        "another spec"
        in recorded(tmp_path, monkeypatch, only("BertModel", lambda pair: pair._replace(digest="")))[0]
    )
    renamed = only("BertModel", lambda pair: pair._replace(architecture="NoModel"))
    assert any("bert/NoModel is no pair" in problem for problem in recorded(tmp_path, monkeypatch, renamed))
    recorded(tmp_path, monkeypatch, lambda pair: pair)
    (tmp_path / "coverage.md").write_text("# Coverage\n")
    assert "docs/coverage.md is not what docs/coverage.json says" in coverage.stale()[0]


def test_every_pair_of_the_auto_classes_is_listed() -> None:
    from archspec.oracle import mapped

    assert len(mapped()) == 1576
    assert mapped()["bert", "BertForPreTraining"] == ("AutoModelForPreTraining",)


def test_a_zero_that_no_condition_forbids_is_found() -> None:
    """BART divides by the root of its heads' width: without the condition, a width of 0 would be counted."""
    bare = altered(shipped().load("bart"), "ScaledMultiHeadProjections", "MultiHeadProjections")
    found = verify_spec(bare, "BartModel", 2).differences
    assert [(difference.kind, difference.config["d_model"]) for difference in found] == [("accepted", 0)]


def test_what_no_line_refuses_leads_to_where_a_condition_would_be() -> None:
    """DeepSeek-V4 has lists of layers longer than they need be: without its condition the rule for all specs refuses them."""
    spec = shipped().load("deepseek_v4")
    raw = {"model_type": "deepseek_v4"}
    count = counted(spec._replace(require=spec.require[1:]), "DeepseekV4Model", raw)
    assert count.error is not None
    assert [place.line for place in refusing(spec, "DeepseekV4Model", raw, count.tree, count.error)] == [
        spec.fields["mlp_layer_types"].place.line,
        1,
    ]


def test_an_item_of_a_list_leads_to_the_class_that_may_lack_another() -> None:
    """An item too few in a Sequential moves those after it: no line of an item is at fault."""
    spec = shipped().load("regnet")
    tree = Builder(Scope(spec, {"model_type": "regnet"})).build("RegNetModel")
    name = next(row[0] for row in spec_rows(tensors(tree)) if ".attention.2.weight" in row[0])
    lines = [place.line for place in trail(tree, name)]
    assert {spec.modules["RegNetSELayer"].place.line, lines[-1]} <= set(lines) and lines[-1] != lines[-2]


@pytest.mark.parametrize(
    "fill",
    [
        lambda init, weight: init.kaiming_uniform_(weight[0], a=1),
        lambda init, weight: init.kaiming_uniform_(weight, nonlinearity="none"),
        lambda init, weight: init.uniform_(weight, "0", 1.0),
        lambda init, weight: init.normal_(weight, 0.0, -1.0),
    ],
)
def test_layers_are_not_filled_but_what_could_be_refused_is_called(fill: Callable[..., Any]) -> None:
    from torch import nn

    def calls(filled: Callable[..., Any]) -> type:
        return type(
            "Toy",
            (nn.Module,),
            {"__init__": lambda self, config: (nn.Module.__init__(self), filled(self))[0]},
        )

    def layers(self: Any) -> None:
        self.dense, self.embed, self.norm = nn.Linear(2, 3), nn.Embedding(4, 2), nn.LayerNorm(2)

    called: set[str] = set()
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code.co_qualname) if event == "call" else None)
    try:
        built(calls(layers), None)
    finally:
        sys.setprofile(None)
    assert {"Embedding.reset_parameters", "LayerNorm.reset_parameters"} <= called
    assert not called & {
        "Linear.reset_parameters",
        "kaiming_uniform_",
        "uniform_",
        "normal_",
        "ones_",
        "zeros_",
    }
    with pytest.raises(Refused):
        built(calls(lambda self: fill(nn.init, nn.Linear(2, 3, device="meta").weight)), None)
    assert nn.init.normal_.__module__ == "torch.nn.init"  # as it was
    assert nn.Linear.reset_parameters.__module__ == "torch.nn.modules.linear"
