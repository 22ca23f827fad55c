"""The files of a hub id; huggingface_hub keeps them in its cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from archspec.errors import ConfigError

_HELP = "give the path of a config.json; configs that were downloaded before are read from the cache"
_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


def fetch_config(name: str) -> str:
    """The path of a hub id's config.json. Errors: :class:`ConfigError` if it cannot be had."""
    has_route = _has_route()
    try:
        from huggingface_hub import hf_hub_download

        return str(hf_hub_download(name, "config.json", etag_timeout=10, local_files_only=not has_route))
    except ImportError:
        message = f"{name}: there is no such file, and huggingface-hub is not installed"
        raise ConfigError(message, help="pip install huggingface-hub, or give the path of a file") from None
    except Exception as error:  # the hub's errors have no common base, and all mean that there is no config
        detail = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        detail = detail if has_route else "the cache has no such config, and the hub cannot be reached"
        message = f"{name}: there is no such file or folder, and the hub does not give {name}: {detail}"
        raise ConfigError(message, help=_HELP) from None


def fetch_optional(name: str, files: Iterable[str]) -> None:
    """Download files of a hub id next to its config, if it has them."""
    from huggingface_hub import hf_hub_download

    has_route = _has_route()
    for file in files:
        with suppress(Exception):  # the hub's errors have no common base; most ids have no such file
            hf_hub_download(name, file, etag_timeout=10, local_files_only=not has_route)


def _has_route() -> bool:
    """Return True if the hub's host has an address; without one, a download would wait half a minute."""
    import socket
    from urllib.parse import urlsplit

    if any(os.environ.get(name) for name in _PROXIES):
        return True
    host = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").hostname
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False
