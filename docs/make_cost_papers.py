"""The part of docs/papers.md on FLOPs and caches, which `make_papers.py` writes."""

from __future__ import annotations

from typing import Any

import sympy

import archspec
from archspec.costs.records import Step
from archspec.models.formula import Formula

B, n = sympy.symbols("batch tokens")
LLAMA_3_1_8B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}


def prefill(architecture: str, quantity: str, *assumed: str) -> Any:
    """FLOPs of a call without a past, in which heads divide the width."""
    found = archspec.formula(architecture, quantity).assume(*assumed).expr
    whole = found.replace(sympy.floor, lambda inner: inner)
    return sympy.expand(whole.subs(sympy.Symbol("past"), 0))


def palm() -> tuple[Any, Any, Any]:
    """(6N + 12·L·H·Q·T, three times Llama's FLOPs a token, what of its parameters is not in N)."""
    d, vocab, layers, heads, size = sympy.symbols(
        "hidden_size vocab_size num_hidden_layers num_attention_heads head_dim"
    )
    idle = vocab * d + (2 * layers + 1) * d
    weights = archspec.formula("LlamaForCausalLM").expr - idle
    found = 3 * prefill("LlamaForCausalLM", "flops") / (B * n)
    return sympy.expand(6 * weights + 12 * layers * heads * size * n), sympy.expand(found), idle


def kaplan() -> tuple[Any, Any, Any]:
    """(2N + 2·n_layer·n_ctx·d_attn, GPT-2's masked FLOPs a token, their difference)."""
    d, ff, layers = sympy.symbols("n_embd n_inner n_layer")
    weights = layers * (4 * d**2 + 2 * d * ff)
    paper = 2 * weights + 2 * layers * n * d
    found = prefill("GPT2LMHeadModel", "masked_flops") / (B * n)
    return sympy.expand(paper), sympy.expand(found), sympy.expand(found - paper)


def megatron() -> list[tuple[Any, Any]]:
    """(the paper's FLOPs of a step, GPT-2's): without recomputation, and with that of all layers."""
    h, layers, vocab = sympy.symbols("n_embd n_layer vocab_size")
    found = prefill("GPT2LMHeadModel", "flops", "n_inner=4*n_embd")
    logits = 2 * B * n * h * vocab
    plain = 72 * B * layers * n * h**2 * (1 + n / (6 * h) + vocab / (12 * layers * h))
    again = 96 * B * layers * n * h**2 * (1 + n / (6 * h) + vocab / (16 * layers * h))
    return [(plain, 3 * found), (again, 4 * found - logits)]


def korthikanti() -> dict[str, tuple[Any, Any]]:
    """Class -> (s·b·h·(34 + 5·a·s/h), bytes that a layer of it keeps in 16 bits with eager attention)."""
    cases = [
        ("BertModel", {"model_type": "bert"}, "num_hidden_layers", "hidden_size", "num_attention_heads"),
        ("GPT2Model", {"model_type": "gpt2", "activation_function": "gelu"}, "n_layer", "n_embd", "n_head"),
        ("OPTModel", {"model_type": "opt"}, "num_hidden_layers", "hidden_size", "num_attention_heads"),
    ]
    inner = {"BertModel": "intermediate_size", "GPT2Model": "n_inner", "OPTModel": "ffn_dim"}
    found = {}
    for name, config, layers, width, heads in cases:
        scope = archspec.load(config, name).scope
        kept = Formula.derive(scope, name, "activation_bytes", Step(2, 512, attention="eager")).expr
        h, a = sympy.symbols(f"{width} {heads}")
        layer = kept.coeff(sympy.Symbol(layers)).replace(sympy.floor, lambda whole: whole)
        paper = n * B * h * (34 + 5 * a * n / h)
        found[name] = sympy.expand(paper), sympy.expand(layer.subs(sympy.Symbol(inner[name]), 4 * h))
    return found


def chinchilla() -> tuple[Any, Any, Any]:
    """(appendix F's FLOPs of a forward pass, GPT-2's, their difference)."""
    d, ff, layers, vocab, heads = sympy.symbols("n_embd n_inner n_layer vocab_size n_head")
    attention = 2 * 3 * n * d**2 + 2 * n**2 * d + 3 * heads * n**2 + 2 * n**2 * d + 2 * n * d**2
    paper = B * (2 * n * vocab * d + layers * (attention + 2 * n * 2 * d * ff) + 2 * n * d * vocab)
    found = prefill("GPT2LMHeadModel", "flops")
    return sympy.expand(paper), found, sympy.expand(paper - found)


def caches() -> list[tuple[str, str, int, int]]:
    """(model, source, bytes per token by the source, bytes per token that archspec counts in bf16)."""
    llama = archspec.load(LLAMA_3_1_8B).forward(tokens=1)
    deepseek = archspec.load("DeepseekV3ForCausalLM").forward(tokens=1)
    oss = archspec.load("GptOssForCausalLM").forward(tokens=131072)
    return [
        ("Llama 3.1 8B", "arXiv:2407.21783: 8 key-value heads", 128 * 1024, llama.cache_bytes("bf16")),
        (
            "DeepSeek-V3",
            "arXiv:2412.19437: latent of 512 plus RoPE key of 64",
            70_272,
            deepseek.cache_bytes("bf16"),
        ),
        (
            "gpt-oss-120b",
            "arXiv:2508.10925: same page size for all layers",
            73_728,
            oss.cache_bytes("bf16", "pages") // 131072,
        ),
    ]


def lines() -> list[str]:
    """The sections of the page."""
    paper, _, idle = palm()
    _, _, diagonal = kaplan()
    _, _, more = chinchilla()
    rows = korthikanti().items()
    activations = "\n".join(f"| `{name}` | `{ours}` | `{ours - theirs}` |" for name, (theirs, ours) in rows)
    sections = f"""
## PaLM, arXiv:2204.02311: 6·N + 12·L·H·Q·T FLOPs per token of training

This equals three times the FLOPs per token of `LlamaForCausalLM`. N excludes
`{idle}`: the input table, which is only looked up, and the
norms. The result is 6·N plus the attention term, the one with `tokens`:

    {paper}

## Kaplan et al., arXiv:2001.08361: 2·N + 2·n_layer·n_ctx·d_attn FLOPs per token

This equals the masked FLOPs per token of `GPT2LMHeadModel`, except for

    {diagonal}

These are each token's attention to itself, and the logits, which the paper's N omits.

## Megatron-LM, arXiv:2104.04473: 72·B·L·s·h²·(1 + s/(6·h) + V/(12·L·h)) FLOPs per step

This equals three times the FLOPs of `GPT2LMHeadModel` with n_inner = 4·n_embd. If activations are
recomputed, the FLOPs of layers count four times and those of logits three times, which gives the paper's
96·B·L·s·h²·(1 + s/(6·h) + V/(16·L·h)).

## Korthikanti et al., arXiv:2205.05198: s·b·h·(34 + 5·a·s/h) bytes of activations per layer

This is the number of bytes that autograd saves per layer in 16-bit dtypes, with eager attention and a
feed-forward width of 4·h. GPT-2 has `activation_function=gelu` here; its default gelu_new saves 24·s·b·h
more. The paper omits the float32 statistics of two LayerNorms. OPT has a ReLU, whose output is the input of
the next layer, no attention dropout, and a softmax in float32:

| class | per layer | difference from the paper |
| --- | --- | --- |
{activations}

## Chinchilla, arXiv:2203.15556: appendix F

In addition to the matrix products of `GPT2LMHeadModel`, the paper's forward pass includes

    {more}

These are the embedding lookup as a product with one-hot vectors, and three FLOPs per element of the softmax.

## KV cache sizes from papers

Bytes per token in bfloat16, computed from the sizes in the paper, and counted by archspec:

| model | source | from the paper | counted |
| --- | --- | ---: | ---: |"""
    found = sections.split("\n")
    return found + [f"| {name} | {said} | {p:,} | {count:,} |" for name, said, p, count in caches()]
