"""The options that select models: positional arguments, the class, overridden fields, specs."""

from __future__ import annotations

from archspec.tables.checking import CHECKED
from archspec.tables.items import LENGTHS
from archspec.tables.option import COMMAND, Option

LOADED = ("count", "tree", "tensors", "formula", "flops", "cache", "memory", "lora", "sensitivity")
EVERY = (*LOADED, "diff", "table", "sweep", "solve", "check", "list", "verify", "derive", "lint")
_MODEL = (
    "a config.json, a directory with one, a Hub id, - for a config on stdin, "
    "or the name of an architecture or model type (its default config)"
)
_FIELDS = "Mapping[str, Any] | None"
_VALUES = "values of a field: first:last, first:last:step, first:last:*factor (ends included), or a,b,c"

# fmt: off
MODELS = (
    *CHECKED,
    Option("model", "Source", _MODEL, LOADED, metavar="CONFIG|ARCH", positional="1"),
    Option("model", "Source", _MODEL, ("sweep", "solve"), metavar="ARCH|CONFIG", positional="1"),
    Option("models", "Sequence[Source]", f"{_MODEL}; one or more", ("table",), default=(),
           metavar="CONFIG|ARCH", positional="+"),
    Option("a", "Source", _MODEL, ("diff",), metavar="A", positional="1"),
    Option("b", "Source", "the second model; with --config, A and B are architectures of that config",
           ("diff",), metavar="B", positional="1"),
    Option("filter", "str", "show only names that contain TEXT", ("list",), default="", metavar="TEXT",
           positional="?"),
    Option("names", "str | Iterable[str]", "the classes or model types to verify", ("verify",), default=(),
           metavar="ARCHITECTURE|MODEL_TYPE", positional="*"),
    Option("name", "str | type", "a class of transformers, a model type, or your own class", ("derive",),
           metavar="CLASS|MODEL_TYPE|MODULE:CLASS", positional="1"),
    Option("files", "Folders | None",
           "spec files (YAML files that describe a model type), or directories with spec files (default: the "
           "--specs directory, or all shipped specs)", ("lint",), metavar="FILE", positional="*"),
    Option("config", "Source | None", "the config, if the first argument is an architecture",
           ("sweep", "solve"), metavar="CONFIG", where=COMMAND, positional="?"),
    Option("config", "Source | None", "a config; A and B are then two architectures to load it with",
           ("diff",), metavar="CONFIG"),
    Option("config", "str | type",
           "the config class of your model, if the constructor has no type annotation for it", ("derive",),
           default="", metavar="MODULE:CLASS"),
    Option("architecture", "str | None", "the model class, e.g. BertForMaskedLM", (*LOADED, "diff"),
           metavar="CLASS", default_help="the config's architecture"),
    Option("architecture", "str | None", "the model class, if the first argument is a config",
           ("sweep", "solve"), metavar="CLASS"),
    Option("set", _FIELDS, "override config fields, e.g. text_config.num_hidden_layers=2,vocab_size=32000",
           (*LOADED, "diff"), metavar="FIELD=VALUE,..."),
    Option("set", "Mapping[str, Any] | Sequence[str]",
           f"{_VALUES}; or of a length of the forward pass: {', '.join(LENGTHS)}", ("sweep",), default=(),
           metavar="FIELD=VALUES"),
    Option("set", "Mapping[str, Any] | Sequence[str]", _VALUES, ("solve",), default=(),
           metavar="FIELD=VALUES"),
    Option("set_a", _FIELDS, "override fields of A only", ("diff",), metavar="FIELD=VALUE,..."),
    Option("set_b", _FIELDS, "override fields of B only", ("diff",), metavar="FIELD=VALUE,..."),
    Option("specs", "Specs",
           "a directory with your own specs, searched before ARCHSPEC_PATH and the shipped specs",
           (*LOADED, "diff", "table", "sweep", "solve", "check", "list"), default=(),
           metavar="DIR"),
    Option("specs", "Folder | Sequence[Folder]",
           "a directory with your own specs, searched before ARCHSPEC_PATH and the shipped specs",
           ("verify", "lint"), default=(), metavar="DIR"),
)
# fmt: on
