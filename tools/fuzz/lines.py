"""Random command lines, of the options that each verb declares in archspec/tables."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

from archspec.cli.command_line import choices_of, command_options
from archspec.specs.library import shipped_library
from archspec.tables.option import Option
from archspec.tables.quantities import QUANTITIES
from archspec.tables.verbs import VERBS
from tools.fuzz import configs

Random = random.Random
SLOW = ("verify", "derive")  # they build models: tried less often, and never on everything
LEFT_OUT = ("all", "changed", "coverage", "samples", "costs")  # of verify: minutes or hours, or the checkout
FIXED = {"verify": ["--samples", "0", "--jobs", "1"], "derive": ["--no-verify"]}
SELDOM = ("architecture", "config", "specs")  # most values have nothing to do with the model
OFTEN = {"params": 0.9, "free": 0.9, "set": 0.4, "train": 0.4, "format": 0.4}  # others need them
BROKEN = (
    *("", " ", "-", "--", "-1", "0", "1.5", "1e400", "nan", "inf", "9" * 400, "-9e99", "None", "true"),
    *("0x10", "é", "𝔘𝔫", "\udcff", "a\nb", "x" * 5000, "%s%n", "{0}", "'", '"', "\\", "[", "(((("),
    *("[[[[1]]]]", "{}"),
    *("\x1b[31mred", "a\r\nhelp: b", "\x9b2J", "a\u202eb", "n_layer=\x1b[1m", "x" * 10**6, "１２", "1:８"),
    *("hidden_size=1,hidden_size=2", "n_layer=" + "[" * 3000, "-" * 3000 + "1", "*", "null"),
    *("=", "a=", "=1", "a=b=c", "a==1", ",", ",,", ":", "1:", ":1", "..", "1..2", "../..", "~", ".", "/"),
    *("[[[0]*1000]*1000]*1000", "len([[[[0]*99]*99]*99]*99)", "(hidden_size + vocab_size) ** 500"),
    *("hidden_size ** 1000000000000", "[[[0]*999]*999]*999 == [[[0]*999]*999]*999", "[" * 200, "--json"),
    *('"\\ud800"', "x=\udc80", "n_layer=\udc80", "num_hidden_layers={}", "num_hidden_layers=1e400", "1e300"),
    *("__class__", "lambda: 0", "9**9**9", "2**-1", "1/0", "hidden_size", "--no-such-option", "--help"),
)
NUMBERS = ("1", "2", "3", "7", "128", "2048", "1_000", "1000000", "99999999999", "12345678901234567890")
SIZES = ("7b", "7e9", "124M", "1.3B", "16GiB", "80GiB", "1e21", "100", "7,000,000,000", "1e30", "0.5k")
SIZED = (  # the fields that are set most often
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "n_embd"),
    *("n_layer", "max_position_embeddings", "head_dim", "num_key_value_heads", "num_labels", "n_ctx"),
)
CLASSES = (
    *("BertModel", "BertForMaskedLM", "GPT2LMHeadModel", "LlamaForCausalLM", "MixtralForCausalLM", "T5Model"),
    *("MambaForCausalLM", "ViTModel", "CLIPModel", "WhisperModel", "Gemma3Model", "DeepseekV3Model", "bert"),
    *("llama", "gemma3", "JambaModel", "Qwen3MoeModel", "NoSuchModel", "org/model", "no/such/config.json"),
)
_FILES = ("a.csv", "a.parquet", "a.jsonl", "a.arrow", "a.png", "a.svg", "a.html", "new", "folder", "a.txt")
_EXPRESSIONS = (
    *("4*hidden_size", "hidden_size // 64", "hidden_size % 7", "num_hidden_layers", "64", "hidden_size**2"),
    *("-hidden_size", "hidden_size/3", "max(hidden_size, 4)", "hidden_size if 1 else 2", "sum([1, 2])", "0"),
)
_RATIOS = ("1..2", "100..140", "..", "3", "5..1")
# By metavar: good values, and broken ones; with `FIELD=` they follow the name of a field.
VALUES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "FIELD=VALUE,...": (
        ("64", "128", "768", "1024", "4096", "2", "3", "12", "32000"),
        (*NUMBERS, "null", "true", "[1, 2]", '"gelu"', "-4", "0", '{"a": 1}', "1.5"),
    ),
    "FIELD=VALUES": (
        ("1:3", "2,4,8", "64:256:64", "768:3072:768", "12", "1:64:*2", "4,2"),
        ("true,false", "1:1000000000", "3:1", "1:5:0", "2:8:*1", "a,b", "-1:1", "0:2"),
    ),
    "FIELD=EXPRESSION": (_EXPRESSIONS, ("params > 0", "hidden_size", "not 1")),
    "FIELD=LATEX": (("h", r"\alpha"), ("", "$", "%", "}")),
    "FIELD=N": (NUMBERS[:5], ("0", "-1")),
    "A/B=LOW..HIGH": (tuple(f"hidden_size/num_hidden_layers={text}" for text in _RATIOS), ()),
    "CONDITION": (("params < 7e9", "params > 0", "hidden_size % 128 == 0", "hidden_size", "1", "not 1"), ()),
    "CLASS": (CLASSES, ()),
    "ARCH|CONFIG": (CLASSES, ("config.json",)),
    "ARCHITECTURE|MODEL_TYPE": (("bert", "gpt2", "BertModel"), ("NoSuchModel", "é", "")),
    "CLASS|MODEL_TYPE|MODULE:CLASS": (  # what derive imports has to be harmless
        ("BertModel", "bert"),
        ("NoSuchModel", "json:JSONDecoder", "no.such:Thing", ":", "a:", "os", "é:é"),
    ),
    "TEXT": (("bert", "Llama"), ("[", "*", "é")),
    "PERCENT": (("0", "0.1", "50"), ("1e9",)),
    "NAME,...": (
        ("q_proj,v_proj", "all-linear", "query", "c_attn", r".*proj"),
        ("(", "norm", "layers", "lm_head"),
    ),
    "NAME=N": (("q_proj=2", "query=3"), ("q_proj=0", "(=1", "query=x")),
    "N,...": (("0", "0,1"), ("-1", "a", "99")),
    "TYPE": (("SEQ_CLS", "CAUSAL_LM"), ("NONE", "")),
    **dict.fromkeys(("RANKS", "STAGE", "B"), (NUMBERS[:6], ())),
    **dict.fromkeys(("N", "F", "C", "T", "BYTES"), (SIZES + NUMBERS[:6], NUMBERS)),
    **dict.fromkeys(("FILE", "FOLDER", "DIR"), ((*_FILES, "specs", "notation.yaml"), ("nowhere.yaml",))),
}
_DEPTHS = ("1", "2", "3", "12")  # with thousands of layers a line takes a minute


class Subject(NamedTuple):
    """The model of a line, fields that it has, and whether nothing in the line is broken."""

    model: str
    fields: tuple[str, ...]
    sound: bool


def line(random: Random, folder: Path) -> list[str]:
    """Return a command line; it reads and writes in the folder, in which it is to be run."""
    if random.random() < 0.02:
        return random.choices((*BROKEN, "--help", "--version", "-h"), k=random.randrange(3))
    verb = random.choice(SLOW if random.random() < 0.02 else [verb for verb in VERBS if verb not in SLOW])
    sound = random.random() < 0.5  # its options may still exclude each other
    subject = _subject(random, folder, sound)
    options = [one for one in command_options(verb) if verb != "verify" or one.name not in LEFT_OUT]
    given = [verb, *FIXED.get(verb, [])]
    for option in options:
        if option.positional and option.name not in SELDOM:
            given.append(subject.model if option.name in ("model", "a") else _value(option, random, subject))
            continue
        chance = 0.04 if option.name in SELDOM else OFTEN.get(option.name, 1.5 / len(options))
        while random.random() < chance:
            given += _given(option, random, subject)
            chance = 0.3 if option.is_repeated else 0
    for _ in range(0 if sound else random.choice((0, 1, 1, 2))):
        _break(given, random)
    return given


def _break(given: list[str], random: Random) -> None:
    """Put something broken in the place of a value, or between others."""
    values = [place for place, text in enumerate(given) if place and not text.startswith("-")]
    if values and random.random() < 0.75:
        broken = random.choice(BROKEN)
        given[random.choice(values)] = f"./{broken}" if given[0] == "lint" else broken  # without a file: all
    else:
        given.insert(random.randrange(1, len(given) + 1), random.choice(BROKEN))


def _given(option: Option, random: Random, subject: Subject) -> list[str]:
    if option.type == "bool" or (option.bare is not None and random.random() < 0.5):
        return [option.flag]
    value = _value(option, random, subject)
    if option.positional:
        return [value]
    return [f"{option.flag}={value}"] if random.random() < 0.3 else [option.flag, value]


def _value(option: Option, random: Random, subject: Subject) -> str:
    """Return a value of the option's kind."""
    choices = choices_of(option)
    if option.metavar == "A,B,...":
        choices = [*QUANTITIES, "bytes", "hidden_size", "x=params*2", "flops", "cache_bytes", "params/0"]
        return ",".join(random.choices(choices, k=random.choice((1, 1, 2, 3))))
    if choices and random.random() < 0.9:
        return random.choice(choices)
    good, broken = VALUES.get(option.metavar, (subject.fields, NUMBERS))
    values = good if subject.sound else good + broken
    if not option.metavar.startswith("FIELD="):
        return random.choice(values)
    name = random.choice(subject.fields)
    return f"{name}={random.choice(_DEPTHS if 'layer' in name and good[0].isdigit() else values)}"


def _subject(random: Random, folder: Path, sound: bool) -> Subject:
    """Return a class or a model type by its name, or a config that is written into the folder."""
    if random.random() < 0.4:
        model = random.choice(CLASSES)
        return Subject(model, _fields(shipped_library().index().get(model, (model,))[0], sound), sound)
    name = random.choice(("config.json", "folder/config.json"))
    text, model_type = configs.text(random, sound)
    (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    model = random.choice((name, f"./{name}", "folder" if "/" in name else name))
    return Subject(model, _fields(model_type, sound), sound)


def _fields(model_type: str, sound: bool) -> tuple[str, ...]:
    """Return the fields of a model type that are set most often; all of them unless the line is sound."""
    if model_type not in shipped_library().model_types():
        return SIZED
    spec = shipped_library().load(model_type)
    sized = tuple(name for name in SIZED if name in spec.fields or name in spec.attribute_map)
    return sized if sound and sized else (*spec.fields, *sized, "hidden_size", "dtype", "no_such.field")


def prepare(folder: Path, random: Random) -> None:
    """Write the files that command lines may read."""
    (folder / "folder").mkdir()
    (folder / "notation.yaml").write_text("V: {latex: V, meaning: vocabulary, fields: [vocab_size]}\n")
    spec = Path(shipped_library().folder, "bert.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    del spec[random.randrange(len(spec))]
    (folder / "specs").mkdir()
    for path in (folder / "spec.yaml", folder / "specs" / "bert.yaml"):
        path.write_text("".join(spec), encoding="utf-8")
