"""Code that people try first, drafted as it is: docs/examples, and what stands in such code."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.cli.main import main

pytestmark = pytest.mark.reference
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
VIT = "image_size=256,patch_size=32,num_classes=1000,dim=192,depth=6,heads=3,mlp_dim=768"


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the examples, in which the test runs; their modules are forgotten afterwards."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def net(*body: str, arguments: str = "config: NetConfig") -> None:
    """Writes `own.py`, with a constructor of these lines."""
    lines = ["import logging", "import torch", "from dataclasses import dataclass", "from torch import nn"]
    lines += ["@dataclass", "class NetConfig:", "    width: int = 8", "    depth: int = 3"]
    lines += ["class Net(nn.Module):", f"    def __init__(self, {arguments}):", "        super().__init__()"]
    Path("own.py").write_text("\n".join([*lines, *(f"        {line}" for line in body)]) + "\n")


def drafted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = main(["derive", *arguments, "--json", "--samples", "3"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    found: dict[str, Any] = json.loads(printed.out)
    return found


@pytest.mark.parametrize(
    ("arguments", "architecture", "other", "params"),
    [
        (
            ["nanogpt:GPT"],
            "GPT",
            {"block_size": 256, "vocab_size": 65, "n_layer": 6, "n_embd": 384},
            10_770_816,
        ),
        (["vit:ViT", "--kwargs", VIT], "ViT", {"depth": 12, "pool": "mean"}, 6_134_056),
        (["dit:DiT"], "DiT", {"hidden_size": 384, "depth": 12, "num_heads": 6}, 32_963_360),
    ],
)
def test_an_example_is_drafted_exactly_found_and_verified(
    arguments: list[str], architecture: str, other: dict[str, Any], params: int
) -> None:
    assert main(["derive", *arguments, "--output", "drafts"]) == 0
    assert archspec.load(architecture, set=other, specs="drafts").params == params
    assert main(["verify", architecture, "--specs", "drafts", "--samples", "2"]) == 0


def test_nanogpt_is_gpt2_with_the_head_of_its_size() -> None:
    assert main(["derive", "nanogpt:GPT", "--output", "drafts", "--no-verify"]) == 0
    model = archspec.load("GPT", set={"vocab_size": 50257}, specs="drafts")
    assert model.params == archspec.load("GPT2LMHeadModel").params
    assert model.tensors()[-1].tied_to == "transformer.wte.weight"
    assert "# not read" not in Path("drafts/gpt.yaml").read_text()


def test_what_counts_its_own_parameters_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    net(
        "self.embed = nn.Embedding(9, config.width)",
        "self.parts = nn.ModuleDict({'a': nn.ModuleList([nn.Linear(config.width, 9, bias=False)])})",
        "self.tie_weights()",
        "self.size = sum(p.numel() for p in self.parameters()) - self.embed.weight.numel()",
        "logging.info('%.2fM', self.size / 1e6)",
        "print(f'{self.size / 1e6:.2f}M')",
    )
    with open("own.py", "a") as file:
        file.write("    def tie_weights(self):\n        self.parts['a'][0].weight = self.embed.weight\n")
    text = drafted(capsys, "own:Net")["drafts"]["net"]
    assert "parts.a.0.weight: embed.weight" in text and "verify: exact" in text and "not read" not in text


def test_a_list_that_grows_in_place_grows_under_a_condition_too(capsys: pytest.CaptureFixture[str]) -> None:
    body = ["layers = []", "for i in range(depth):", "    layers += [nn.Linear(4, 4), nn.ReLU()]"]
    body += ["    if norm:", "        layers.append(nn.LayerNorm(4))", "self.net = nn.Sequential(*layers)"]
    net(*body, arguments="depth=3, norm=False")
    text = drafted(capsys, "own:Net")["drafts"]["net"]
    assert "LayerNorm(4)] if norm else []" in text and "verify: exact" in text


def test_arrays_have_the_sizes_that_the_config_says(capsys: pytest.CaptureFixture[str]) -> None:
    net(
        "import numpy as np",
        "grid = np.stack(np.meshgrid(np.arange(config.width), np.arange(config.depth)), axis=0)",
        "self.register_buffer('rows', torch.from_numpy(np.arange(config.width)).float())",
        "self.a = nn.Linear(grid.reshape(-1).shape[0], 2)",
    )
    assert "verify: exact" in drafted(capsys, "own:Net")["drafts"]["net"]


def test_keyword_arguments_are_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    net(
        "self.a = nn.Linear(width, ratio or 2)",
        "self.b = act()",
        arguments="width, drop, ratio=None, act=nn.GELU",
    )
    found = drafted(capsys, "own:Net", "--kwargs", "width=5,drop=0.5")["drafts"]["net"]
    assert found.splitlines()[1] == "# code: own.py --kwargs drop=0.5"
    assert "config:\n  width: 5\n  ratio: int | None = None\n" in found


def test_tuples_are_lists_of_the_config_and_tuples_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    size = "h, w = size if isinstance(size, tuple) else (size, size)"
    net(size, "self.a = nn.Linear(h, w)", arguments="size=(8, 4)")
    text = drafted(capsys, "own:Net")["drafts"]["net"]
    assert "len(size) == 2" in text and "a: Linear(size[0], size[1])" in text and "verify: exact" in text


def test_what_a_dataclass_works_out_after_its_constructor_is_a_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    net("self.a = nn.Linear(config.width, config.inner)", "self.b = nn.Linear(config.head, config.kept)")
    text = Path("own.py").read_text()
    after = [
        "    inner: int = None",
        "    heads: int = 2",
        "    kept: int = -1",
        "    def __post_init__(self):",
    ]
    after += ["        if self.inner is None:", "            self.inner = 4 * self.width"]
    after += ["        if self.kept == -1:", "            self.kept = self.heads"]
    after += ["        self.head = self.width // self.heads"]
    Path("own.py").write_text(text.replace("class Net(", "\n".join([*after, "class Net("])))
    draft = drafted(capsys, "own:Net")["drafts"]["net"]
    assert "inner: = 4 * width" in draft and "head: = width // heads" in draft and "verify: exact" in draft


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["own:Net"],
            "own:Net: missing values for width, drop\nhelp: pass them, e.g. --kwargs width=64,drop=64",
        ),
        (
            ["own:Net", "--kwargs", "widht=3"],
            "own:Net has no keyword argument widht\nhelp: did you mean width?",
        ),
        (["byte_lm:ByteLM", "--kwargs", "width=3"], "byte_lm:ByteLM takes a ByteLMConfig, and no keyword"),
        (["BertModel", "--kwargs", "width=3"], "--kwargs has no effect: transformers has a config"),
        (
            ["unread:Net"],
            "unread.py:18:9: not supported: a generator\n            self.layers = nn.ModuleList(",
        ),
    ],
)
def test_what_cannot_be_drafted_is_told(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    net("self.a = nn.Linear(width, 2)", arguments="width, drop")
    assert main(["derive", *arguments, "--no-verify"]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and "\nhelp: " in printed.err and printed.out == ""


def test_a_draft_that_is_wrong_is_not_counted_from(capsys: pytest.CaptureFixture[str]) -> None:
    net("n = config.width", "while n > 3:", "    n //= 2", "self.a = nn.Linear(n, 2)")
    assert main(["derive", "own:Net", "--output", "drafts"]) == 1
    assert main(["count", "net", "--specs", "drafts"]) == 2
    assert "net is not supported: drafted, and not what the class builds" in capsys.readouterr().err


def test_a_spec_is_held_to_its_class_and_its_config(capsys: pytest.CaptureFixture[str]) -> None:
    spec = Path("specs/byte_lm.yaml")
    assert main(["verify", "ByteLM", "--specs", "specs", "--samples", "2"]) == 0
    text = spec.read_text()
    spec.write_text(text.replace("depth: 4", "depth: 5").replace("3 * width", "width"))
    assert main(["verify", "--specs", "specs", "--samples", "2"]) == 1
    out = capsys.readouterr().out
    assert "depth: your code: 4; the spec: 5" in out and "blocks.0.qkv.weight: your code: (768, 256)" in out
    spec.write_text(text.replace("code: byte_lm.py", "code: gone.py"))
    assert main(["verify", "byte_lm", "--specs", "specs"]) == 2
    assert "gone cannot be imported" in capsys.readouterr().out
