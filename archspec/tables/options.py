"""The options of all commands: each is declared once, with the commands and Python functions that take it.

An option has one name: `--data-parallel` on the command line is `data_parallel=` in Python. The axes of a
forward pass are options, too; they come from :data:`archspec.tables.axes.AXES`.
"""

from __future__ import annotations

from archspec.tables.adapters import ADAPTER_OPTIONS
from archspec.tables.axes import Axis, axes_of
from archspec.tables.checking import CHECK_FORMAT
from archspec.tables.items import ITEM_OPTIONS
from archspec.tables.models import EVERY, MODELS
from archspec.tables.option import COMMAND, PYTHON, Option
from archspec.tables.quantities import COST_COLUMNS, COSTS, QUANTITIES

_TEXTS, _FIELDS, _NAMES = "Sequence[str]", "Mapping[str, Any] | None", "Mapping[str, str] | None"
_SIZE = "str | float | None"
FORMATS = ("text", "unicode", "latex", "mathml", "markdown", "python", "c", "sql", "spark")
GROUPS = ("repetition", "component", "module", "layer", "polynomial")
ENVIRONMENTS = ("align", "align*", "equation", "equation*")
_QUANTITIES, _COSTS = ", ".join(QUANTITIES), ", ".join(COSTS)

# fmt: off
OPTIONS = (
    *MODELS,
    *ITEM_OPTIONS, *ADAPTER_OPTIONS, CHECK_FORMAT,
    Option("dtype", "str | None", "dtype for byte counts",
           ("count", "cache", "memory", "table", "sweep", "solve"), metavar="DTYPE", choices="dtypes",
           default_help="the config's dtype, else float32"),
    Option("dtype", "str | None", "report bytes in this dtype instead of a parameter count",
           ("formula", "sensitivity"), metavar="DTYPE", choices="dtypes"),
    Option("depth", "int | None", "show all modules down to level N", ("count",), metavar="N",
           default_help="only the largest modules"),
    Option("depth", "int | None", "show N levels of modules", ("tree",), metavar="N", default_help="all"),
    Option("depth", "int | None", "show modules only down to level N", ("diff",), metavar="N"),
    Option("depth", "int | None", "number of levels for --by module (default: 1)", ("formula",), metavar="N",
           excludes=("collect", "piecewise"), where=COMMAND),
    Option("quantity", "str",
           f"{_QUANTITIES}, or a cost of a forward pass: {_COSTS}; active_params_without_lookup excludes "
           "lookup-only embedding tables, masked_flops excludes masked attention scores",
           ("formula", "sensitivity"), default="params", metavar="NAME", choices="quantities"),
    Option("assume", _TEXTS,
           "replace a field by an expression, e.g. intermediate_size=4*hidden_size; repeat it for others",
           ("formula", "sensitivity"), default=(), metavar="FIELD=EXPRESSION"),
    Option("format", "str",
           "output format: text (d^2), unicode (d²), latex, mathml, markdown, python, c, sql (DuckDB), spark "
           "(Spark SQL)", ("formula",), default="unicode", metavar="FORMAT", choices=FORMATS,
           excludes=("json", "table"), where=COMMAND),
    Option("by", "str", "group the terms by repeated layers (repetition), by component such as attention or "
           "embeddings, by module, by layer list such as model.layers (layer), or not at all (polynomial)",
           ("formula",), default="repetition", choices=GROUPS, excludes=("collect", "piecewise"),
           where=COMMAND),
    Option("collect", "str | None", "collect powers of a field", ("formula",), metavar="FIELD",
           excludes=("table", "piecewise"), where=COMMAND),
    Option("leading", "str | None",
           "keep only the terms that dominate as FIELDS grow (default: widths, depths, head and expert "
           "counts, vocabulary, batch size and sequence lengths)", ("formula",), metavar="FIELDS",
           excludes=("piecewise", "table"), where=COMMAND, bare=""),
    Option("table", "str | None", "print a table with formula, value and share of each part", ("formula",),
           choices=("latex", "markdown"), excludes=("json", "piecewise"), where=COMMAND),
    Option("env", "str | None", "LaTeX environment", ("formula",), choices=ENVIRONMENTS, where=COMMAND),
    Option("width", "float | None",
           "LaTeX line width in digits: 48 for a two-column layout, 69 for one column (default)",
           ("formula",), metavar="N", where=COMMAND),
    Option("standalone", "bool", "print a complete LaTeX document with symbols and assumptions",
           ("formula",), default=False, where=COMMAND),
    Option("piecewise", "bool", "print one case per combination of the boolean fields that affect the result",
           ("formula",), default=False, where=COMMAND),
    Option("notation", "str | None",
           "a YAML file with your own symbols, in the format of archspec's formulas/notation.yaml",
           ("formula",), metavar="FILE", where=COMMAND),
    Option("symbol", _NAMES, "use your own symbol for a field, e.g. hidden_size=h", ("formula",),
           metavar="FIELD=LATEX", where=COMMAND),
    Option("weights", "str | None", "format of the weights, quantized or a dtype", ("cache", "memory"),
           metavar="FORMAT", choices="formats", default_help="the config's"),
    Option("group_size", "int | None", "inputs that share a scale of the weights; -1 for all of them",
           ("cache", "memory"), metavar="N", default_help="the format's", needs=("weights",)),
    Option("weights", "str | None", "list the tensors of a GGUF file of this type, e.g. Q4_K_M", ("tensors",),
           metavar="TYPE", choices="files", where=COMMAND),
    Option("budget", "str | int | None",
           "report the context length and batch size that fit in this memory with the weights, e.g. 80GiB or "
           "80GB; nothing is reserved for temporary memory", ("cache",), metavar="BYTES"),
    Option("last", "bool", "compute logits for the last token only", ("memory",), default=False),
    Option("train", "bool",
           "report training memory: weights, gradients, optimizer state, activations; --dtype is then "
           "bfloat16 (default) or float32",
           ("memory",), default=False, where=COMMAND),
    Option("dtype", "str", "dtype of weights", ("training",), default="bfloat16", where=PYTHON),
    Option("optimizer", "str", "optimizer", ("training",), default="adamw", metavar="NAME",
           choices="optimizers", needs=("train",)),
    Option("attention", "str", "attention kernel", ("training",), default="flash", metavar="KERNEL",
           choices=("flash", "eager"), needs=("train",)),
    Option("checkpointing", "bool", "recompute layers in the backward pass", ("training",), default=False,
           needs=("train",)),
    Option("freeze", "str | Sequence[str]", "comma-separated: modules to leave untrained, e.g. vision_tower",
           ("training",), default=(), metavar="MODULE,...", needs=("train",)),
    Option("data_parallel", "int", "data-parallel degree", ("training",), default=1, metavar="RANKS",
           needs=("train",)),
    Option("zero", "int", "ZeRO stage, 0 to 3, across data-parallel ranks (default: 0)", ("training",),
           default=0, metavar="STAGE", needs=("train", "data_parallel")),
    Option("tensor_parallel", "int", "tensor-parallel degree", ("training",), default=1, metavar="RANKS",
           needs=("train",)),
    Option("pipeline_parallel", "int", "pipeline-parallel degree", ("training",), default=1, metavar="RANKS",
           needs=("train",)),
    Option("expert_parallel", "int", "expert-parallel degree; must divide data-parallel × tensor-parallel",
           ("training",), default=1, metavar="RANKS", needs=("train",)),
    Option("columns", "str | Sequence[str] | None",
           f"comma-separated: model, architecture, model_type, dtype, {_QUANTITIES}, bytes, flops, "
           "flops_per_token, cache_bytes, cache_bytes_per_token, item_tokens, config fields, or their "
           "symbols (d, L, h) or names (width, layers)", ("table",), metavar="A,B,...",
           default_help="model,params,L,d,h,d_ff,V, and active_params if it differs from params"),
    Option("format", "str", "output format", ("table",), default="text",
           choices=("text", "latex", "markdown"), excludes=("json",), where=COMMAND),
    Option("format", "str", "output format", ("diff",), default="text", choices=("text", "markdown"),
           excludes=("json",), where=COMMAND),
    Option("columns", "Columns",
           f"comma-separated: {_QUANTITIES}, bytes, a cost of a forward pass ({', '.join(COST_COLUMNS)}), a "
           "config field, an expression over these, or name=expression", ("sweep",), default=("params",),
           metavar="A,B,...", choices="columns"),
    Option("tie", _NAMES, "compute a field from others, e.g. intermediate_size=4*hidden_size",
           ("sweep", "solve"), metavar="FIELD=EXPRESSION"),
    Option("where", "Sequence[str] | str", 'keep only configs that meet a condition, e.g. "params < 7e9"',
           ("sweep", "solve"), default=(), metavar="CONDITION"),
    Option("wide", "bool",
           "write all integers as decimal(38), in case later rows of a large grid exceed 64 bits; requires "
           "--out FILE.parquet or FILE.arrow", ("sweep",), default=False),
    Option("out", "str | None", "write all rows to a .csv, .parquet, .jsonl or .arrow file", ("sweep",),
           metavar="FILE", excludes=("json", "rows"), where=COMMAND),
    Option("plot", "str | None", "draw the sweep as a .png, .svg, .pdf or .html file", ("sweep",),
           metavar="FILE", excludes=("json", "rows"), where=COMMAND),
    Option("overwrite", "bool", "replace existing files", ("sweep", "solve", "verify"), default=False,
           where=COMMAND),
    Option("overwrite", "bool", "replace existing files", ("derive",), default=False),
    Option("csv_safe", "bool", "write ' before text cells that start with =, +, - or @, with --out FILE.csv",
           ("sweep",), default=False, where=COMMAND),
    Option("kind", "str", "kind of plot; pareto draws the Pareto front: first column minimized, second "
           "maximized", ("sweep",), default="auto",
           choices=("auto", "lines", "contour", "pareto"), needs=("plot",), where=COMMAND),
    Option("log", "str", "logarithmic axes of the plot: x, y or xy", ("sweep",), default="", metavar="AXES",
           needs=("plot",), where=COMMAND),
    Option("overlay", "Sequence[Source]", "add another model to the plot", ("sweep",), default=(),
           metavar="ARCH|CONFIG", needs=("plot",), where=COMMAND),
    Option("sql", "str | None", "print a SQL query", ("sweep",), metavar="DIALECT",
           choices=("duckdb", "spark"), excludes=("out", "plot", "json", "rows", "yes"), where=COMMAND,
           bare="duckdb"),
    Option("table", "str | None", "read the swept fields from this table, one column each", ("sweep",),
           metavar="NAME", needs=("sql",), where=COMMAND),
    Option("yes", "bool", "allow more than 100,000,000 configs, or output larger than the free disk space",
           ("sweep",), default=False, where=COMMAND),
    Option("rows", "int", "number of rows to print", ("sweep",), default=40, metavar="N", excludes=("json",),
           where=COMMAND),
    *(Option(name, _SIZE, one.budget, ("solve",), metavar="N")
      for name, one in QUANTITIES.items() if one.budget),
    Option("bytes", _SIZE, "limit on the bytes of the weights, e.g. 16GiB", ("solve",), metavar="N"),
    Option("flops", _SIZE, "target FLOPs of training on --tokens T, e.g. 1e22", ("solve",), metavar="F"),
    Option("tokens", _SIZE, "number of training tokens for --flops, e.g. 2e11", ("solve",), metavar="T"),
    Option("memory", _SIZE, "limit on the memory of weights and KV cache, e.g. 80GiB", ("solve",),
           metavar="BYTES"),
    Option("compute", _SIZE,
           "training compute in FLOPs, e.g. 1e21; target the model size that --law predicts for it",
           ("solve",), metavar="C"),
    Option("law", "str | None", "scaling law for --compute", ("solve",), metavar="NAME", choices="laws",
           default_help="chinchilla"),
    Option("sequence", "int | None", "sequence length for --flops or --memory", ("solve",), metavar="N",
           default_help="2048, or the model's maximum if smaller"),
    Option("batch", "int", "batch size for --memory", ("solve",), default=1, metavar="B", needs=("memory",)),
    Option("free", "str | Sequence[str]", "fields to vary", ("solve",), default=(), metavar="FIELD,...",
           default_help="width, depth and feed-forward width; the number of heads is derived from the width"),
    Option("multiple", "Mapping[str, int] | None", "restrict a free field to multiples of N", ("solve",),
           metavar="FIELD=N"),
    Option("ratio", _FIELDS, "keep a ratio in a range, e.g. hidden_size/num_hidden_layers=100..140",
           ("solve",), metavar="A/B=LOW..HIGH"),
    Option("tolerance", "float | None",
           "rank configs within this percentage of the budget by proportions, not size; 0 ranks all by size",
           ("solve",), metavar="PERCENT", default_help="1; 0 with --ratio or one field in --free"),
    Option("within", "float | None", "fail if no config is within this percentage of the budget", ("solve",),
           metavar="PERCENT", default_help="50 without --free, otherwise no limit"),
    Option("top", "int", "number of configs", ("solve",), default=10, metavar="N"),
    Option("out", "str | None", "write each config to DIR/1/config.json, DIR/2/config.json, ...",
           ("solve",), metavar="DIR", where=COMMAND),
    Option("all", "bool", "verify every supported class", ("verify",), default=False),
    Option("changed", "str | None",
           "verify the specs changed since COMMIT and those that use them; without COMMIT, if another "
           "transformers version is installed, report what that version adds, removes and changes",
           ("verify",), metavar="COMMIT", bare="release"),
    Option("samples", "int",
           "number of random configs, in addition to the default one; 10 or more also cover every branch of "
           "the spec, invalid values, and fields that the spec does not mention", ("verify",), default=20,
           metavar="N"),
    Option("samples", "int",
           "number of random configs to verify the draft with; 0 verifies the default config only",
           ("derive",), default=10, metavar="N"),
    Option("seed", "int", "seed of the random configs (default: 0)", ("verify", "derive"), 0, metavar="S"),
    Option("output", "str", "directory for drafts of the classes that another transformers version adds",
           ("verify",), default="drafts", metavar="DIR", needs=("changed",), where=COMMAND),
    Option("jobs", "int", "number of processes (default: one per core)", ("verify",), default=0, metavar="J",
           where=COMMAND),
    Option("jobs", "int", "number of processes; 0 for one per core", ("verify",), default=1, where=PYTHON),
    Option("coverage", "bool",
           "verify changed specs and update docs/coverage.md, by default with as many samples as recorded",
           ("verify",), default=False, excludes=("changed",), where=COMMAND),
    Option("check", "bool", "with --coverage or --costs: write nothing, and fail if a record is out of date",
           ("verify",), default=False,
           excludes=("samples", "seed", "jobs", "all", "changed", "formulas"), where=COMMAND),
    Option("costs", "bool", "verify KV caches, and FLOPs by module, instead of tensors", ("verify",),
           default=False, where=COMMAND),
    Option("formulas", "bool", "verify the closed forms of costs", ("verify",), default=False,
           needs=("costs",), excludes=("samples", "seed", "jobs", "coverage"), where=COMMAND),
    Option("kwargs", _FIELDS, "constructor arguments, for a class without a config, e.g. dim=192,depth=6",
           ("derive",), metavar="NAME=VALUE,..."),
    Option("output", "str | None", "write <model_type>.yaml and the specs of its parts to this directory",
           ("derive",), metavar="DIR"),
    Option("no_verify", "bool", "write the draft without verifying it", ("derive",), default=False,
           excludes=("samples", "seed"), where=COMMAND),
    Option("schema", "bool", "print the JSON Schema of spec files, for editors", ("lint",), default=False,
           excludes=("specs", "json"), where=COMMAND),
    Option("json", "bool", "print JSON", EVERY, default=False, where=COMMAND),
    Option("json_schema", "bool", "print the JSON Schema of the --json output", EVERY, default=False,
           where=COMMAND),
)
# fmt: on


_ENCODER = "encoder sequence length of an encoder-decoder", "512, or the model's maximum if smaller"
_OTHER_AXES = {  # the help and the default of axes that mean something else to a command
    ("diff", "tokens"): ("also compare FLOPs and KV cache of a forward pass with this many tokens", ""),
    ("formula", "encoder_tokens"): _ENCODER,
    ("sensitivity", "encoder_tokens"): _ENCODER,
}


def _axis_option(name: str, axis: Axis, verb: str) -> Option:
    """Return the option of one axis; comparisons and closed forms leave it open unless it is given."""
    is_open = verb in ("formula", "sensitivity", "diff", "table", "sweep")
    default = None if is_open else axis.default
    usual = axis.usual or ("" if axis.default is None else str(axis.default))
    help_, usual = _OTHER_AXES.get((verb, name), (axis.help, usual))
    needs = ("tokens",) if verb == "diff" and name != "tokens" else ()
    number = "int | None" if default is None else "int"
    return Option(name, number, help_, (verb,), default, "N", default_help=usual, needs=needs)


def options_of(verb: str) -> list[Option]:
    """Return the options of a verb or function: the model, the axes of a forward pass, then the others.

    >>> [option.flag for option in options_of("tree")]
    ['model', '--architecture', '--set', '--specs', '--depth', '--json', '--json-schema']
    """
    models = [option for option in MODELS if verb in option.verbs]
    axes = [_axis_option(name, axis, verb) for name, axis in axes_of(verb).items()]
    others = [option for option in OPTIONS if verb in option.verbs and option not in MODELS]
    return [*models, *axes, *others]
