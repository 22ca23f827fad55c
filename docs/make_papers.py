"""Writes docs/papers.md: formulas and tables of papers, reproduced from the specs.

`python docs/make_papers.py` writes the page; `tests/test_papers.py` holds it current and checks
every equality that it prints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import make_cost_papers as costs
import sympy
import yaml

import archspec
from archspec.render.arrangements import arrange
from archspec.render.growth import leading_terms

HERE = Path(__file__).parent
CONFIGS = HERE.parent / "configs"


def symbols(names: str) -> Any:
    return sympy.symbols(names)


def kaplan() -> tuple[Any, Any]:
    """(the formula of the paper, the leading order of T5's encoder without embeddings)."""
    found = leading_terms(archspec.formula("T5EncoderModel", "non_embedding_params")).expr
    d, layers, kv, heads, ff = symbols("d_model num_layers d_kv num_heads d_ff")
    return 2 * d * layers * (2 * kv * heads + ff), found


def megatron() -> tuple[Any, Any, Any]:
    """(the formula of the paper, GPT-2's under f = 4h, what GPT-2 has beyond it)."""
    h, layers, vocab, positions = symbols("n_embd n_layer vocab_size n_positions")
    paper = 12 * layers * h**2 * (1 + sympy.Rational(13) / (12 * h) + (vocab + positions) / (12 * layers * h))
    found = archspec.formula("GPT2LMHeadModel").assume(n_inner="4*n_embd").expr
    return sympy.expand(paper), found, sympy.expand(found - paper)


def rows(architecture: str) -> list[dict[str, Any]]:
    published = yaml.safe_load((CONFIGS / "published.yaml").read_text(encoding="utf-8"))
    return [
        row for row in published["exact"] if row["architecture"] == architecture and "non_embedding" in row
    ]


def counted(row: dict[str, Any]) -> archspec.Model:
    return archspec.load(str(CONFIGS / row["file"]), row["architecture"])


def gpt3() -> list[dict[str, Any]]:
    """Each row of table 2.1 with the exact count, with its misprint."""
    published = yaml.safe_load((CONFIGS / "published.yaml").read_text(encoding="utf-8"))
    table = published["rounded"][0]
    found = []
    for row in table["rows"]:
        printed = {name: row[name] for name in ("n_layer", "n_embd", "n_head")}
        config = {"model_type": table["model_type"], **table["config"], **printed, **row.get("instead", {})}
        found.append({**row, "exact": archspec.load(config, table["architecture"]).params})
    return found


def chinchilla() -> list[tuple[list[int], int]]:
    """Table A9's rows and the count: T5's layers, one more matrix for relative keys, a vocabulary."""
    encoder = archspec.formula("T5EncoderModel")
    found = []
    for row in yaml.safe_load((HERE / "chinchilla.yaml").read_text(encoding="utf-8"))["rows"]:
        _, d, ff, kv, heads, layers = row
        base = encoder.evaluate(
            vocab_size=32000, d_model=d, d_ff=ff, d_kv=kv, num_heads=heads, num_layers=layers
        )
        found.append((row, base + layers * d * kv * heads))
    return found


def page() -> str:
    _, found = kaplan()
    lines = [
        "# Formulas and tables of papers, reproduced from the specs",
        "",
        "`python docs/make_papers.py` writes this page, and `tests/test_papers.py` checks every equality.",
        "Symbols in `code font` are config fields; headings use the paper's symbols. Values match the papers",
        "unless a difference is shown.",
        "",
        "## Kaplan et al., arXiv:2001.08361: N = 2·d·L·(2·d_attn + d_ff)",
        "",
        "The leading terms of `T5EncoderModel` without its embeddings, with d_attn = d_kv·num_heads:",
        "",
        f"    {sympy.factor(found)}",
        "",
        "This equals the formula of the paper.",
        "",
        "## Megatron-LM, arXiv:2104.04473: 12·L·h²·(1 + 13/(12·h) + (V + s)/(12·L·h))",
        "",
    ]
    paper, found, rest = megatron()
    lines += [
        "`GPT2LMHeadModel` with n_inner = 4·n_embd:",
        "",
        f"    {found}",
        "",
        f"The paper's formula expands to `{paper}`.",
        f"The difference, `{rest}`, is the last LayerNorm (weight and bias), which the paper omits.",
        "",
        "## Gemma 2, arXiv:2408.00118: tables 1 and 2",
        "",
        "All counts equal the published ones. The vocabulary is 256,128, as in the paper.",
        "",
        "| checkpoint | embedding | non-embedding |",
        "| --- | ---: | ---: |",
    ]
    for row in rows("Gemma2ForCausalLM"):
        model = counted(row)
        name = row["checkpoint"].partition(" ")[0]
        lines.append(f"| {name} | {model.embedding_params:,} | {model.non_embedding_params:,} |")
    lines += [
        "",
        "## Pythia, arXiv:2304.01373: total and non-embedding parameters",
        "",
        "All counts equal the published ones.",
        "",
        "| checkpoint | total | non-embedding |",
        "| --- | ---: | ---: |",
    ]
    for row in rows("GPTNeoXForCausalLM"):
        model = counted(row)
        lines.append(f"| {row['checkpoint']} | {model.params:,} | {model.non_embedding_params:,} |")
    lines += [
        "",
        "## GPT-3, arXiv:2005.14165: table 2.1",
        "",
        "| model | published | exact | misprint in the paper, and the value used here |",
        "| --- | ---: | ---: | --- |",
    ]
    lines += [
        f"| {row['name']} | {row['params']} | {row['exact']:,} | {row.get('misprint', '')} |"
        for row in gpt3()
    ]
    lines += [
        "",
        "## Chinchilla, arXiv:2203.15556: table A9, in which kv_size·n_heads often differs from d_model",
        "",
        "`T5EncoderModel` with a vocabulary of 32,000, plus one matrix d_model × (kv_size·n_heads) per layer",
        "for the relative position keys, added by hand because Chinchilla is not in transformers.",
        "Biases are not counted, which explains the differences of up to 0.03%.",
        "",
        "| published, millions | d_model | kv_size·n_heads | counted | difference |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for (printed, d, _, kv, heads, _), count in chinchilla():
        lines.append(f"| {printed:,} | {d} | {kv * heads} | {count:,} | {count / printed / 1e6 - 1:+.2%} |")
    lines += ["", "## The components of GPT-2", "", "| component | parameters |", "| --- | --- |"]
    parts = arrange(archspec.formula("GPT2LMHeadModel"), "component")
    lines += [f"| {part.label} | `{part.expr}` |" for part in parts]
    return "\n".join([*lines, *costs.lines()]) + "\n"


if __name__ == "__main__":
    (HERE / "papers.md").write_text(page(), encoding="utf-8")
