"""Values of options: as users write them, and broken ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from archspec.formats.table import FORMATS, NAMES
from archspec.tables.quantities import QUANTITIES

Random = random.Random
Maker = Callable[[Random, "Subject"], str]
BROKEN = (
    *("", " ", "-", "--", "-1", "0", "1.5", "1e400", "nan", "inf", "9" * 400, "-9e99", "None", "true"),
    "0x10",
    *("é", "𝔘𝔫", "\udcff", "a\nb", "x" * 5000, "%s%n", "{0}", "'", '"', "\\", "[", "((((", "[[[[1]]]]", "{}"),
    *("\x1b[31mred", "a\r\nhelp: b", "\x9b2J", "a\u202eb", "n_layer=\x1b[1m", "x" * 10**6, "１２", "1:８"),
    *("hidden_size=1,hidden_size=2", "n_layer=" + "[" * 3000, "-" * 3000 + "1"),
    *("=", "a=", "=1", "a=b=c", "a==1", ",", ",,", ":", "1:", ":1", "..", "1..2", "../..", "~", ".", "/"),
    *("[[[0]*1000]*1000]*1000", "len([[[[0]*99]*99]*99]*99)", "(hidden_size + vocab_size) ** 500"),
    *("hidden_size ** 1000000000000", "[[[0]*999]*999]*999 == [[[0]*999]*999]*999"),
    *('"\\ud800"', "x=\udc80", "n_layer=\udc80", "num_hidden_layers={}", "num_hidden_layers=1e400", "1e300"),
    *("__class__", "lambda: 0", "9**9**9", "2**-1", "1/0", "hidden_size", "--json", "[" * 200, "null", "*"),
)
NUMBERS = ("1", "2", "3", "7", "128", "2048", "1_000", "1000000", "99999999999", "12345678901234567890")
SIZES = ("7b", "7e9", "124M", "1.3B", "16GiB", "80GiB", "1e21", "100", "7,000,000,000", "1e30", "0.5k")
SIZED = (  # the fields that are set most often
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "n_embd"),
    *("n_layer", "max_position_embeddings", "head_dim", "num_key_value_heads", "num_labels", "n_ctx"),
)
EXPRESSIONS = (
    *("4*hidden_size", "hidden_size // 64", "hidden_size % 7", "num_hidden_layers", "64", "hidden_size**2"),
    *("-hidden_size", "hidden_size/3", "max(hidden_size, 4)", "hidden_size if 1 else 2", "sum([1, 2])", "0"),
)
CONDITIONS = ("params < 7e9", "params > 0", "hidden_size % 128 == 0", "hidden_size", "1", "params", "not 1")
RANGES = ("1:3", "2,4,8", "64:256:64", "768:3072:768", "12", "1:64:*2", "4,2")
ODD_RANGES = ("true,false", "1:1000000000", "3:1", "1:5:0", "2:8:*1", "a,b", "-1:1", "0:2")
RATIOS = ("1..2", "100..140", "..", "3", "5..1")
DTYPES = ("bf16", "bfloat16", "float32", "fp8", "int4", "float7", "torch.float16")
CLASSES = (
    *("BertModel", "BertForMaskedLM", "GPT2LMHeadModel", "LlamaForCausalLM", "MixtralForCausalLM", "T5Model"),
    *("MambaForCausalLM", "ViTModel", "CLIPModel", "WhisperModel", "Gemma3Model", "DeepseekV3Model", "bert"),
    *("llama", "gemma3", "JambaModel", "Qwen3MoeModel", "NoSuchModel", "org/model", "no/such/config.json"),
)


class Subject(NamedTuple):
    """The model that a line is of, fields that it has, and whether the line is to have nothing broken."""

    model: str
    fields: tuple[str, ...]
    sound: bool


def _setting(good: tuple[str, ...], odd: tuple[str, ...] = (), layers: tuple[str, ...] = ()) -> Maker:
    """`FIELD=VALUE`, of a good value or, where the line is not sound, of an odd one.

    ``layers`` are the good values of a depth: with thousands of layers a line takes a minute, and rightly so.
    """

    def made(random: Random, of: Subject) -> str:
        name = random.choice(of.fields)
        values = layers if layers and "layer" in name else good
        return f"{name}={random.choice(values if of.sound else values + odd)}"

    return made


def _listed(*values: str) -> Maker:
    """Some of the values with commas between them; of none, some of the fields."""
    return lambda random, of: ",".join(random.choices(values or of.fields, k=random.choice((1, 1, 2, 3))))


def _one_of(*values: str) -> Maker:
    return lambda random, of: random.choice(values or of.fields)


_VALUES = ("64", "128", "768", "1024", "4096", "2", "3", "12", "32000")
_DEPTHS = ("1", "2", "3", "12")
_ODD = (*NUMBERS, "null", "true", "[1, 2]", '"gelu"', "-4", "0", '{"a": 1}', "1.5")
_COLUMNS = (*QUANTITIES, "bytes", "hidden_size", "x=params*2", "flops", "cache_bytes", "params/0")
_FILES = ("a.csv", "a.parquet", "a.jsonl", "a.arrow", "a.png", "a.svg", "a.html", "new", "folder", "a.txt")
MAKERS: dict[str, Maker] = {  # by an option's name, or by its metavar
    "FIELD=VALUE": _setting(_VALUES, _ODD, _DEPTHS),
    "FIELD=VALUE,...": _setting(_VALUES, _ODD, _DEPTHS),
    "FIELD=VALUES": _setting(RANGES, ODD_RANGES, ("1:3", "2,4,8")),
    "FIELD=EXPRESSION": _setting(EXPRESSIONS, CONDITIONS),
    "FIELD=LATEX": _setting(("h", r"\alpha"), ("", "$", "%", "}")),
    "FIELD=N": _setting(NUMBERS[:5]),
    "A/B=LOW..HIGH": _one_of(*(f"hidden_size/num_hidden_layers={text}" for text in RATIOS)),
    "CONDITION": _one_of(*CONDITIONS),
    "A,B,...": _listed(*_COLUMNS),
    **dict.fromkeys(("FIELD,...", "FIELDS"), _listed()),
    "FIELD": _one_of(),
    "CLASS": _one_of(*CLASSES),
    "--config": _one_of(*CLASSES, "config.json"),
    "--params": _one_of("7e9", "124M", "1.3B", "7b", "7,000,000,000", "350M", "70B"),
    "--specs": _one_of("specs", "folder", "nowhere"),
    "--quantity": _one_of(*QUANTITIES, "flops", "cache_elements"),
    "--dtype": _one_of(*DTYPES),
    "--weights": _one_of(*DTYPES, *NAMES, *(alias for one in FORMATS for alias in one.aliases)),
    "--optimizer": _one_of("adamw", "sgd_momentum", "adam", "none"),
    "--attention": _one_of("flash", "eager", "sdpa"),
    "--law": _one_of("chinchilla", "kaplan", "besiroglu", "murphy"),
    "--kind": _one_of("auto", "lines", "contour", "pareto", "pie"),
    "--notation": _one_of("config.json", "notation.yaml", "folder"),
    "--tokens": _one_of(*NUMBERS, "2e11"),
    "--encoder-tokens": _one_of(*NUMBERS[:5], "80GiB", "24e9"),
    **dict.fromkeys(("--within", "--tolerance"), _one_of("0", "0.1", "50", "1e9")),
    "--zero": _one_of("0", "1", "2", "3", "4"),
    "--depth": _one_of("0", "1", "2", "99"),
    "--sql": _one_of("duckdb", "spark", "oracle"),
    **dict.fromkeys(("--batch", "--past", "--sequence", "--rows", "--top", "RANKS"), _one_of(*NUMBERS[:6])),
    **dict.fromkeys(("N", "F", "C", "BYTES"), _one_of(*SIZES)),
    **dict.fromkeys(("FILE", "FOLDER", "DIR", "--out", "--plot"), _one_of(*_FILES)),
}


def value_of(option: str, metavar: str | None, random: Random, of: Subject) -> str:
    """A value for an option, of its kind if that is known."""
    made = MAKERS.get(option) or MAKERS.get(metavar or "")
    return made(random, of) if made else random.choice((*NUMBERS, *of.fields))
