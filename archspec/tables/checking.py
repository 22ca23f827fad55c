"""The options of `archspec check`, next to those that it shares with other commands."""

from __future__ import annotations

from archspec.tables.option import COMMAND, Option

_PATHS = "a folder, a Hub id, or files: safetensors, *.index.json, PyTorch zip files, GGUF"
_CONFIG = "the config to compare with; for an adapter, that of its base model"
_FORMATS = ("text", "github")

CHECKED = (
    Option("paths", "str | Sequence[str]", _PATHS, ("check",), metavar="FOLDER|FILE", positional="+"),
    Option(
        *("config", "Source | None", _CONFIG, ("check",)),
        metavar="CONFIG",
        default_help="the config.json in the folder",
    ),
)
CHECK_FORMAT = Option(
    *("format", "str", "output format; github prints annotations of GitHub Actions", ("check",), "text"),
    choices=_FORMATS,
    excludes=("json",),
    where=COMMAND,
)
