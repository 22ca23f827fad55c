"""Drafts: what a constructor says, says the draft; what was not read is a comment; a wrong input ends with
a help line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.configs.reader import read_config
from archspec.deriving import Draft, compiled, draft, find, overlay, verified
from archspec.linting.checks import lint
from archspec.models.model import Model
from archspec.specs.library import shipped_library
from archspec.verifying.verifier import verify_spec

pytestmark = pytest.mark.reference

HEAD = """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Config:
    width: int = 64
    depth: int = 3
    kind: str = "plain"
    extra: bool = False
    size: int | None = None

class Block(nn.Module):
    def __init__(self, config, wide=1):
        super().__init__()
        self.proj = nn.Linear(config.width, wide * config.width)

class Outer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.block = Block(config)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Writes a module `own`, in the folder that the test then is in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(text: str, name: str = "own") -> None:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")

    before = set(sys.modules)
    yield write
    for name in set(sys.modules) - before:
        if (tmp_path / f"{name}.py").exists():
            del sys.modules[name]


def own(*body: str) -> str:
    """A module with a class `Net`, whose constructor has some lines."""
    lines = "".join(f"        {line}\n" for line in ["super().__init__()", *body])
    return f"{HEAD}\nclass Net(nn.Module):\n    def __init__(self, config: Config):\n{lines}"


def derived(*arguments: str, samples: int = 4) -> dict[str, Any]:
    """Return what `archspec derive --json` prints; it verifies a few samples unless --no-verify is given."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        few = [] if "--no-verify" in arguments else ["--samples", str(samples)]
        code = main(["derive", *arguments, *few, "--json"])
    return {"code": code, **json.loads(out.getvalue())}


def drafted(name: str) -> tuple[Draft, list[Draft]]:
    target = find(name)
    drafts = draft(target.model_type, target.config, target.classes)
    return drafts[0], drafts


CLASSES = [
    "BertModel",
    "GPT2LMHeadModel",
    "LlamaForCausalLM",
    "T5Model",
    "MixtralForCausalLM",
    "ViTForImageClassification",
]


@pytest.mark.parametrize("name", CLASSES)
def test_a_draft_is_exact(name: str) -> None:
    made, drafts = drafted(name)
    assert made.failed == {} and made.architectures == [name]
    with overlay(drafts) as library:
        assert lint(f"{library.folder}/{made.model_type}.yaml", library) == []
        outcome = verify_spec(compiled(made, library), name, 3)
        assert outcome.differences == () and outcome.compared == 4
        ours = archspec.load({"model_type": made.model_type, "architectures": [name]}).params
    assert ours == archspec.load(name).params


def test_the_same_class_gives_the_same_draft() -> None:
    assert drafted("LlamaModel")[0].text == drafted("LlamaModel")[0].text


def test_a_draft_that_says_something_else_is_not_exact() -> None:
    """The other tests' way of finding an error finds one."""
    made, drafts = drafted("LlamaModel")
    assert made.text.count("o_proj: Linear(num_attention_heads * head_dim, hidden_size") == 1
    made.text = made.text.replace(
        "o_proj: Linear(num_attention_heads * head_dim", "o_proj: Linear(hidden_size"
    )
    with overlay(drafts) as library:
        outcome = verified(made, find("LlamaModel"), library, 10, 0)[0]
    assert outcome.verdict == "wrong"


def test_sub_configs_come_with_their_own_drafts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "CLIPModel", "--samples", "2", "--output", str(tmp_path)]) == 0
    assert f"{tmp_path}/clip.yaml" in capsys.readouterr().out.splitlines()
    assert "text_model: CLIPTextModel(text_config)" in (tmp_path / "clip.yaml").read_text()


def test_the_library_is_left_as_it_was() -> None:
    drafts = drafted("LlamaModel")[1]
    with overlay(drafts) as library:
        assert (
            library.load("llama").source.text == drafts[0].text != shipped_library().load("llama").source.text
        )
    assert archspec.load("LlamaModel").params == 6_607_343_616


def test_an_own_module_is_counted_like_any_other(module: Callable[..., None]) -> None:
    import torch

    blocks = "self.blocks = nn.ModuleList([Block(config, i + 1) for i in range(config.depth)])"
    module(own(blocks, "self.scale = nn.Parameter(torch.ones(3))"))
    target = find("own:Net")
    drafts = draft(target.model_type, target.config, target.classes)
    with overlay(drafts) as library:
        assert [outcome.verdict for outcome in verified(drafts[0], target, library, 4, 0)] == ["exact"]
        for depth, width in ((3, 64), (5, 8)):
            config = {"model_type": "net", "architectures": ["Net"], "depth": depth, "width": width}
            net = target.classes[0](type(target.config)(depth=depth, width=width))
            assert isinstance(net, torch.nn.Module)
            raw = read_config(config)
            model = Model(raw, raw, library.load("net"), "Net")
            assert model.params == sum(p.numel() for p in net.parameters())


BOTH_WAYS = {
    "a conditional expression": (
        ["self.a = Block(config) if config.extra else None"],
        "a: Block() if extra else None",
    ),
    "a null": (
        ["if config.size is None:", "    self.a = nn.Linear(2, config.width)"],
        "a: Linear(2, width) if size is None else None",
    ),
    "a text": (
        ["if config.kind == 'wide':", "    self.a = Block(config)", "self.b = Block(config)"],
        "a: Block() if kind == 'wide' else None",
    ),
    "a frozen weight": (
        [
            "self.a = nn.Linear(config.width, 3, bias=False)",
            "if config.extra:",
            "    self.a.weight.requires_grad = False",
        ],
        "a: Linear(width, 3, bias=False).requires_grad_(not extra)",
    ),
    "a frozen module": (
        ["self.a = Block(config)", "for p in self.a.parameters():", "    p.requires_grad = config.extra"],
        "a: Block().requires_grad_(extra)",
    ),
    "one module twice": (
        ["self.b = Block(config)", "self.a = nn.Linear(4, 4)", "if config.extra:", "    self.a = self.b"],
        "alias:\n      a: b if extra",
    ),
    "a tie": (
        [
            "self.a = nn.Embedding(9, config.width)",
            "self.b = nn.Linear(config.width, 9)",
            "if config.extra:",
            "    self.b.weight = self.a.weight",
        ],
        "b.weight: a.weight if extra",
    ),
    "a loop": (
        [
            "self.a = nn.ModuleList()",
            "for i in range(config.depth):",
            "    if i % 2 == 0:",
            "        self.a.append(Block(config, i + 1))",
        ],
        "a: Block(wide=i + 1) for i in range(depth) if ",
    ),
    "a refusal": (
        ["self.a = Block(config)", "if config.width > 100:", "    raise ValueError('too wide')"],
        "require:\n      - width <= 100\n",
    ),
}


@pytest.mark.parametrize(("body", "line"), BOTH_WAYS.values(), ids=BOTH_WAYS)
def test_both_ways_of_a_condition_are_in_the_draft(
    module: Callable[..., None], body: list[str], line: str
) -> None:
    module(own(*body))
    found = derived("own:Net")
    (outcome,) = found["architectures"]
    text = found["drafts"]["net"]
    assert (found["code"], outcome["differences"]) == (0, []), text
    assert outcome["compared"] >= 5
    assert line in text


CODED = "int.from_bytes(config.kind.encode(), 'big') % 100"
GUESSES = {
    "a condition": (
        [f"if {CODED} > 50:", "    self.a = nn.Linear(3, config.width)", "self.b = Block(config)"],
        f"`{CODED} > 50` is",
    ),
    "a size": ([f"self.a = nn.Linear({CODED}, config.width)"], "holds for the default config only"),
    "a loop": (
        ["n = 0", f"while n < {CODED}:", "    n += 1", "self.b = nn.Linear(n, 3)"],
        f"`n < {CODED}` is True by default; the other branch was not read",
    ),
    "a part of a module": (
        ["self.a = nn.Linear(config.width, 3)", "self.a.weight.requires_grad = False"],
        "requires_grad of weight of a Linear is not described",
    ),
}


@pytest.mark.parametrize(("body", "comment"), GUESSES.values(), ids=GUESSES)
def test_what_is_not_read_is_a_comment_and_never_exact(
    module: Callable[..., None], body: list[str], comment: str
) -> None:
    module(own(*body))
    found = derived("own:Net")
    text = found["drafts"]["net"]
    comments = [line for line in text.splitlines() if line.strip().startswith("#")]
    assert any(comment in line for line in comments), text
    assert found["code"] == 1, text
    assert found["architectures"][0]["differences"], "a guess must show under verify"


def test_a_class_that_cannot_be_read_is_named(module: Callable[..., None]) -> None:
    module(
        own("self.a = Block(config)")
        + "class Other(Net):\n    def __init__(self, config: Config):\n        exec('1')\n"
    )
    target = find("own:Net")
    both = [*target.classes, find("own:Other").classes[0]]
    (made,) = draft("net", target.config, both)
    assert made.architectures == ["Net"] and list(made.failed) == ["Other"]
    assert "\n# not supported: Other: " in made.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["BertModle"], "no class or model type 'BertModle'\nhelp: did you mean BertModel"),
        (["BertConfig"], "BertConfig is not a torch.nn.Module\nhelp: "),
        (
            ["BertModel", "--config", "own:Config"],
            "--config has no effect: transformers has a config class for BertModel\nhelp: leave out --config",
        ),
        (["BertModel", "--samples", "-1"], "--samples must be an integer of at least 0, not -1\nhelp: "),
        (["absent:Net"], "absent cannot be imported: ModuleNotFoundError: No module named 'absent'\nhelp: "),
        (["broken:Net"], "broken cannot be imported: ZeroDivisionError: division by zero\nhelp: "),
        (["own:Nett"], "own has no class 'Nett'\nhelp: did you mean Net"),
        (["own:"], "'own:' is not the path of a class\nhelp: "),
        ([":Net"], "':Net' is not the path of a class\nhelp: "),
        (["own:Config"], "own:Config is not a torch.nn.Module\nhelp: "),
        (["own:Block"], "own:Block: the class of its config is not known\nhelp: annotate"),
        (["own:Block", "--config", "own:Refusing"], "Refusing has no default: RuntimeError: no\nhelp: "),
        (["own:Block", "--config", "own:Absent"], "own has no class 'Absent'\nhelp: "),
        (["own:Raising"], "Raising: the constructor raises ValueError('never')"),
        (["own:Empty"], "Empty: it has no tensors\nhelp: "),
        (["own:Net", "--no-verify", "--output", "own.py"], "own.py: File exists\nhelp: "),
    ],
)
def test_wrong_input_ends_with_a_help_line(
    module: Callable[..., None], capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    raising = "class Raising(nn.Module):\n    def __init__(self, config: Config):\n"
    raising += "        raise ValueError('never')\n"
    empty = "class Empty(nn.Module):\n    def __init__(self, config: Config):\n        super().__init__()\n"
    refusing = "class Refusing:\n    def __init__(self):\n        raise RuntimeError('no')\n"
    module(own("self.a = Block(config)") + raising + empty + refusing)
    module("1 / 0", "broken")
    assert main(["derive", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert "Traceback" not in printed.err
    assert [line[:6] for line in printed.err.splitlines()].count("help: ") == 1
