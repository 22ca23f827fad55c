"""`archspec count`, `tree`, `tensors` and `list`: the numbers, their names, ties and JSON."""

from __future__ import annotations

import pytest
from conftest import Command

from archspec import TRANSFORMERS_VERSION

BERT = {"embeddings": 23_837_184, "encoder": 85_054_464, "pooler": 590_592}
SHARES = {"embeddings": "21.77%", "encoder": "77.69%", "pooler": "0.54%"}


def counted(cli: Command, *arguments: str) -> dict[str, str]:
    """The lines of `archspec count`, by what they start with."""
    lines = [line.split("  ", 1) for line in cli("count", *arguments).out.splitlines() if "  " in line]
    return {name.strip(): value.strip() for name, value in lines}


def test_count(cli: Command) -> None:
    found = counted(cli, "BertModel")
    assert (found["architecture"], found["model type"]) == ("BertModel", "bert")
    assert found["params"] == found["trainable"] == found["active"] == "109,482,240"
    assert (found["embedding"], found["non-embedding"]) == ("23,835,648", "85,646,592")
    assert found["persistent buffers"] == "0"
    assert found["bytes in float32"] == "437,928,960  (417.6 MiB)"
    assert found["transformers"].startswith(TRANSFORMERS_VERSION)
    assert found["embeddings"].split() == ["23,837,184", "21.77%"]
    assert found["encoder.layer ×12"].split() == ["85,054,464", "77.69%", "7,087,872"]
    assert found["pooler"].split() == ["590,592", "0.54%"]


def test_dtype(cli: Command, config: str) -> None:
    assert counted(cli, config)["bytes in bfloat16"].startswith("219,028,596 ")
    assert counted(cli, config, "--dtype", "float32")["bytes in float32"].startswith("438,057,192 ")
    cli("count", config, "--dtype", "float3", code=2)


def test_ties_are_noted(cli: Command, config: str) -> None:
    of_bert = (
        "cls.predictions.decoder.weight is tied to bert.embeddings.word_embeddings.weight",
        "132,955,194",
    )
    of_gpt2 = "lm_head.weight is tied to transformer.wte.weight", "163,037,184"
    for model, (tie, again) in ((config, of_bert), ("GPT2LMHeadModel", of_gpt2)):
        assert f"note: {tie}; counted separately, the total is {again}\n" in cli("count", model).out


def test_architecture_and_settings(cli: Command, config: str) -> None:
    assert counted(cli, config)["params"] == "109,514,298"
    assert counted(cli, config, "--architecture", "BertModel")["params"] == "109,482,240"
    five = counted(cli, config, "--architecture", "BertForSequenceClassification", "--set", "num_labels=5")
    assert five["params"] == f"{109_482_240 + 5 * 769:,}"
    several = counted(cli, "BertModel", "--set", "num_hidden_layers=24", "--set", "hidden_size=1032")
    assert several["params"] == "287,810,808"
    assert counted(cli, "GPT2LMHeadModel", "--set", "tie_word_embeddings=false")["params"] == "163,037,184"
    whole, less = (
        int(counted(cli, "Gemma3ForConditionalGeneration", *settings)["params"].replace(",", ""))
        for settings in ([], ["--set", "text_config.num_hidden_layers=25"])
    )
    attention, mlp, norms = 2304 * (2 * 8 * 256 + 2 * 4 * 256), 3 * 2304 * 9216, 4 * 2304 + 2 * 256
    assert whole - less == attention + mlp + norms


def test_count_as_json(cli: Command, config: str) -> None:
    found = cli("count", config, "--json").json
    assert (found["params"], found["bytes"]) == (109_514_298, 219_028_596)
    assert sum(module["params"] for module in found["modules"]) == found["params"]
    assert sum(module["share"] for module in found["modules"]) == pytest.approx(1)
    tied_to = "bert.embeddings.word_embeddings.weight"
    tie = {"tensors": ["cls.predictions.decoder.weight"], "tied_to": tied_to, "params": 23_440_896}
    assert found["tied"][0] == tie


def modules(cli: Command, *arguments: str) -> list[str]:
    """The rows of the modules."""
    return cli("count", *arguments).out.split("\n\n")[1].splitlines()[1:]


def test_modules_to_a_depth(cli: Command) -> None:
    names = [row.strip().split("  ")[0] for row in modules(cli, "LlamaForCausalLM", "--depth", "2")]
    assert names == ["model", "embed_tokens", "layers ×32", "norm", "lm_head"]
    assert len(modules(cli, "LlamaForCausalLM", "--depth", "1")) == 2
    assert "share" not in cli("count LlamaForCausalLM --depth 0").out
    model, head = cli("count LlamaForCausalLM --depth 3 --json").json["modules"]
    layers = model["children"][1]
    assert (layers["name"], layers["copies"], layers["params"]) == ("layers", 32, 6_476_267_520)
    assert [child["name"] for child in layers["children"]][:2] == ["self_attn", "mlp"]
    assert head["children"] == [] and model["params"] + head["params"] == 6_738_415_616
    cli("count LlamaForCausalLM --depth -1", code=2)


def test_a_numbered_module_has_its_class(cli: Command) -> None:
    whisper = "\n".join(modules(cli, "WhisperModel"))
    assert "conv1 " in whisper and "(Conv1d)" not in whisper
    assert "layer.1 (T5LayerFF)" in "\n".join(modules(cli, "T5Model"))


def test_tree_reads_like_print_model(cli: Command) -> None:
    lines = cli("tree BertModel").out.splitlines()
    assert lines[0].split() == ["module", "params", "share", "per", "copy"]
    assert lines[1].split() == ["BertModel", "109,482,240", "100.00%"]
    found = {line.strip().split(":")[0].strip("()"): line.split() for line in lines if line.startswith("  (")}
    for name, params in BERT.items():
        assert found[name][-2:] == [f"{params:,}", SHARES[name]]
    [layer] = [line for line in lines if "12 x" in line]
    assert layer.split() == ["(0-11):", "12", "x", "BertLayer", "85,054,464", "77.69%", "7,087,872"]
    query = "          (query): Linear(in_features=768, out_features=768, bias=True)"
    assert query in "\n".join(lines)
    assert len(cli("tree BertModel --depth 1").out.splitlines()) == 1 + 1 + 3
    cli("tree BertModel --depth -1", code=2)


def test_tree_as_json(cli: Command) -> None:
    root = cli("tree BertModel --json").json
    assert {child["module"]: child["params"] for child in root["children"]} == BERT
    assert root["children"][1]["children"][0]["children"][0]["copies"] == 12


def test_tensors(cli: Command) -> None:
    lines = cli("tensors BertModel").out.splitlines()
    assert len(lines) == 199
    assert lines[0].split() == ["embeddings.word_embeddings.weight", "(30522,", "768)", "23,440,896"]
    assert lines[-1].split() == ["pooler.dense.bias", "(768,)", "768"]
    assert sum(int(line.split()[-1].replace(",", "")) for line in lines) == 109_482_240


def test_marks_of_tensors(cli: Command) -> None:
    tied = "23,440,896  tied to bert.embeddings.word_embeddings.weight"
    for architecture, tensor, end in (
        ("BertForMaskedLM", "cls.predictions.decoder.weight", tied),
        ("WhisperModel", "encoder.embed_positions.weight", "  frozen"),
        ("ResNetModel", "embedder.embedder.normalization.num_batches_tracked", " 1  buffer"),
    ):
        lines = {line.split()[0]: line for line in cli("tensors", architecture).out.splitlines()}
        assert lines[tensor].endswith(end)


def test_tensors_as_json(cli: Command) -> None:
    first, *_, last = cli("tensors GPT2LMHeadModel --json").json["tensors"]
    embeddings = {"name": "transformer.wte.weight", "shape": [50257, 768], "numel": 38_597_376}
    assert first == {**embeddings, "kind": "parameter", "trainable": True, "tied_to": None}
    assert last["tied_to"] == "transformer.wte.weight"


def test_list(cli: Command) -> None:
    lines = {line.split()[0]: line.split()[1:] for line in cli("list").out.splitlines()}
    assert (lines["bert"][0], lines["roberta"][0]) == ("BertModel", "RobertaModel")
    assert "BertForMaskedLM" in lines["bert"]
    (found,) = cli("list distilbert --json").json["model_types"]
    assert (found["model_type"], found["architectures"][0]) == ("distilbert", "DistilBertModel")
    cli("list gpt3", code=2)
