"""The formulas and tables of papers fall out of the specs (docs/papers.md)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import sympy

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def papers() -> ModuleType:
    sys.path.insert(0, str(DOCS))
    spec = importlib.util.spec_from_file_location("make_papers", DOCS / "make_papers.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(DOCS))
    return module


def test_page_is_current(papers: ModuleType) -> None:
    assert (DOCS / "papers.md").read_text(encoding="utf-8") == papers.page()


def test_kaplan_is_the_leading_order(papers: ModuleType) -> None:
    paper, found = papers.kaplan()
    assert sympy.expand(paper - found) == 0


def test_megatron_up_to_the_last_norm(papers: ModuleType) -> None:
    paper, found, rest = papers.megatron()
    assert rest == 2 * sympy.Symbol("n_embd")
    assert sympy.expand(found - paper - rest) == 0
    assert len(sympy.Add.make_args(paper)) == 4


def test_gemma_2_tables(papers: ModuleType) -> None:
    rows = papers.rows("Gemma2ForCausalLM")
    assert len(rows) == 3
    for row in rows:
        model = papers.counted(row)
        assert model.embedding_params == row["embedding"]
        assert model.non_embedding_params == row["non_embedding"]


def test_pythia_columns(papers: ModuleType) -> None:
    rows = papers.rows("GPTNeoXForCausalLM")
    assert len(rows) == 10
    for row in rows:
        model = papers.counted(row)
        assert (model.params, model.non_embedding_params) == (row["params"], row["non_embedding"])


def test_chinchilla_rows_with_narrow_heads(papers: ModuleType) -> None:
    rows = papers.chinchilla()
    assert sum(row[1] != row[3] * row[4] for row, _ in rows) == 6
    for (printed, *_), count in rows:
        assert abs(count / 1e6 - printed) / printed < 0.001


def test_palm_s_flops_a_token(papers: ModuleType) -> None:
    paper, found, _ = papers.costs.palm()
    assert sympy.expand(paper - found) == 0


def test_kaplan_s_flops_a_token_but_for_the_diagonal_and_logits(papers: ModuleType) -> None:
    _, _, rest = papers.costs.kaplan()
    width, layers, vocab = sympy.symbols("n_embd n_layer vocab_size")
    assert sympy.expand(rest - 2 * width * (layers + vocab)) == 0


def test_megatron_s_flops_with_and_without_recomputation(papers: ModuleType) -> None:
    pairs = papers.costs.megatron()
    assert len(pairs) == 2
    assert all(sympy.expand(paper - found) == 0 for paper, found in pairs)


def test_chinchilla_counts_lookups_and_softmax(papers: ModuleType) -> None:
    _, _, rest = papers.costs.chinchilla()
    batch, tokens, width, vocab, heads, layers = sympy.symbols(
        "batch tokens n_embd vocab_size n_head n_layer"
    )
    lookup, softmax = 2 * tokens * vocab * width, 3 * layers * heads * tokens**2
    assert sympy.expand(rest - batch * (lookup + softmax)) == 0


def test_korthikanti_s_activations_up_to_the_statistics_of_norms(papers: ModuleType) -> None:
    found = papers.costs.korthikanti()
    b, n, h, a = sympy.symbols("batch tokens hidden_size num_attention_heads")
    assert sympy.expand(found["BertModel"][1] - found["BertModel"][0]) == 16 * b * n
    assert sympy.expand(found["GPT2Model"][1] - found["GPT2Model"][0]) == 16 * b * n
    rest = -8 * b * n * h + a * b * n**2 + 16 * b * n  # a ReLU; no dropout of attention, a softmax in float32
    assert sympy.expand(found["OPTModel"][1] - found["OPTModel"][0] - rest) == 0


def test_caches_of_model_cards(papers: ModuleType) -> None:
    for name, _, printed, counted in papers.costs.caches():
        assert printed == counted, name
