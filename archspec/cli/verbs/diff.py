"""`archspec diff A B`: what tells two architectures or configs apart, in numbers and in closed form."""

from __future__ import annotations

from archspec.cli.arguments import MODEL_HELP, add_choices, excludes, given, natural, parsed, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.terminal import show

_APART = ("a", "b", "json", "json_schema", "format", "given")  # options that diff() does not take by name


def add_arguments(takes: Arguments) -> None:
    takes.value("a", "A", MODEL_HELP)
    takes.value("b", "B", "the same; with --config, both are architectures of that config")
    takes.value("--config", None, "the config of which A and B are architectures")
    takes.value("--depth", "N", "take modules below level N together", type=natural)
    for side in "ab":
        takes.repeated(f"--set-{side}", "FIELD=VALUE,...", f"fields of {side.upper()} alone")
    about_call = "tell the FLOPs and the cache of a call, too; of"
    takes.value("--tokens", "N", f"{about_call} this many positions", type=int)
    takes.value("--batch", "B", "with --tokens: sequences (default: 1)", type=int)
    takes.value("--past", "P", "with --tokens: positions in the cache before (default: 0)", type=int)
    takes.value("--encoder-tokens", "M", "with --tokens: positions of the encoder", type=int)
    about_format = "what the difference is written in (default: text)"
    takes.value("--format", None, about_format, default="text", choices=("text", "markdown"))
    add_choices(takes)


def run(args: Values) -> int:
    from archspec.compare.diff import diff

    excludes(args, "--json", "--format")
    options = {name: value for name, value in vars(args).items() if name not in _APART}
    settings = {name: parsed(options[name]) for name in ("set", "set_a", "set_b")}
    a = given(args.a)
    b = a if args.b == args.a else given(args.b)
    found = diff(a, b, **(options | settings | {"config": given(args.config)}))
    if args.json:
        print_json(found.as_json())
    elif args.format == "markdown":
        print(found.markdown())
    else:
        show(found.blocks())
    return 1 if found.changes else 0
