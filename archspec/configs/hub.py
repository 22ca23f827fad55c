"""The config.json of a hub id; huggingface_hub keeps what it fetched."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from archspec.errors import ConfigError

_HELP = "give the path of a config.json; a config from the hub is kept, once it was fetched"
_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


def fetched_beside(name: str, files: Iterable[str]) -> None:
    """Fetches files of a hub id that not every one has, next to its config."""
    from huggingface_hub import hf_hub_download

    reached = _has_route()
    for file in files:
        with suppress(Exception):  # the hub's errors have no common base; most ids have no such file
            hf_hub_download(name, file, etag_timeout=10, local_files_only=not reached)


def fetched(name: str) -> str:
    """The path of a hub id's file. Errors: :class:`ConfigError` where there is none, or none can be had."""
    reached = _has_route()
    try:
        from huggingface_hub import hf_hub_download

        return str(hf_hub_download(name, "config.json", etag_timeout=10, local_files_only=not reached))
    except ImportError:
        message = f"{name}: there is no such file, and huggingface-hub is not installed"
        raise ConfigError(message, help="pip install huggingface-hub, or give the path of a file") from None
    except Exception as error:  # the hub's errors have no common base, and all mean that there is no config
        detail = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        detail = detail if reached else "the cache has no such config, and its host has no address from here"
        message = f"{name}: there is no such file or folder, and the hub does not give {name}: {detail}"
        raise ConfigError(message, help=_HELP) from None


def _has_route() -> bool:
    """Whether the hub's host has an address; where it has none, asking anyway takes half a minute."""
    import socket
    from urllib.parse import urlsplit

    if any(os.environ.get(name) for name in _PROXIES):
        return True
    host = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").hostname
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False
