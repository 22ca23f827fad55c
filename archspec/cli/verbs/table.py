"""`archspec table A B C`: several models side by side, for a paper's appendix."""

from __future__ import annotations

from archspec.cli.arguments import MODEL_HELP, add_dtype, add_json, add_specs, excludes, given, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.quantities import QUANTITIES
from archspec.terminal import show

FORMATS = ("text", "latex", "markdown")


def add_arguments(takes: Arguments) -> None:
    takes.value("models", "CONFIG|ARCH", f"{MODEL_HELP}; one or more", nargs="+")
    costs = "bytes, flops, flops_per_token, cache_bytes, cache_bytes_per_token"
    fields = "fields of the configs, usual symbols (d, L, h), words for these (width, layers)"
    about = f"model, architecture, {', '.join(QUANTITIES)}, {costs}, {fields}"
    takes.value("--columns", "A,B,...", f"{about} (default: model,params,active,L,d,h,d_ff,V)")
    about_format = "what the table is written in (default: text)"
    takes.value("--format", None, about_format, default="text", choices=FORMATS)
    about_tokens = "positions of the call whose costs columns name (2048)"
    takes.value("--tokens", "N", about_tokens, type=int)
    add_dtype(takes)
    add_specs(takes)
    add_json(takes)


def run(args: Values) -> int:
    from archspec.compare.table import table

    excludes(args, "--json", "--format")
    models = [given(one) for one in args.models]
    found = table(models, args.columns, tokens=args.tokens, dtype=args.dtype, specs=args.specs)
    if args.json:
        print_json(found.as_json())
    elif args.format == "text":
        show(found.blocks())
    else:
        print(found.latex() if args.format == "latex" else found.markdown())
    return 0
