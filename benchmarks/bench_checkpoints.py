"""Weights and KV caches of checkpoints as other tools report them, from the same folders.

After `pip install --no-deps hf-mem kvfit accelerate llmfit` and `pip install "httpx2[http2]" psutil`,
`python benchmarks/bench_checkpoints.py` writes each config of MODELS with a safetensors file of the
right size (a header, and no data on disk). Its tensors are those of the class of transformers on the meta
device, in bfloat16. The folders are served on this machine as by the Hub. Each tool is asked for the
bytes of the weights, and of the KV cache for 1,024 tokens.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CONFIGS = Path(__file__).parent.parent / "configs"
MODELS = {
    "openai-community--gpt2": "GPT2LMHeadModel",
    "google--gemma-2-2b": "Gemma2ForCausalLM",
    "mistralai--Mistral-7B-v0.1": "MistralForCausalLM",
    "EleutherAI--pythia-1.4b": "GPTNeoXForCausalLM",
    "bigscience--bloom-560m": "BloomForCausalLM",
    "openai--whisper-small": "WhisperForConditionalGeneration",
    "google--vit-base-patch16-224-in21k": "ViTModel",
    "openai--clip-vit-large-patch14": "CLIPModel",
}
TOKENS, ELEMENT_BYTES = 1024, 2
ASK = {  # code that prints `=` and the bytes of the weights, and after `# cache` those of the cache
    "archspec, from the config": """
import archspec
print("=", archspec.load("{folder}/config.json").weights("bf16").bytes)
# cache
import archspec
print("=", archspec.load("{folder}/config.json").forward(tokens=1024).cache_bytes("bf16"))
""",
    "archspec check, from headers": """
import archspec
print("=", archspec.check("{folder}").bytes)
""",
    "hf-mem 0.5.6, from headers": """
import hf_mem
print("=", hf_mem.run(model_id="org/{name}").memory)
# cache
import hf_mem
print("=", hf_mem.run(model_id="org/{name}", experimental=True, max_model_len=1024).kv_cache)
""",
    "kvfit 0.3.0, from file sizes": "# cache".join(
        f"""
import contextlib, io, json
from kvfit.cli import main
with contextlib.redirect_stdout(io.StringIO()) as text:
    main("org/{{name}} --hardware h100-80 --gpus 1 --context 1024 --json".split())
print("=", json.loads(text.getvalue()){key})
"""
        for key in ('["weights"]["bytes"]', '["cache"]["bytes_per_sequence"]')
    ),
    "accelerate 1.15.0, from the config": """
import accelerate.utils
accelerate.utils.is_timm_available = lambda: False
from accelerate.commands.estimate import estimate_command_parser, gather_data
arguments = "org/{name} --library_name transformers --dtypes float16".split()
print("=", gather_data(estimate_command_parser().parse_args(arguments))[0][2])
""",
    "llmfit 1.1.17, from its list of models": "# cache".join(
        f"""
import json, subprocess
command = "llmfit plan {{full_name}} --context 1024 --quant BF16 --json".split()
plan = json.loads(subprocess.run(command, capture_output=True, timeout=20, check=True).stdout)
print("=", round({value}))
"""
        for value in ('plan["disk_size_gb"] * 1e9', 'plan["kv_alternatives"][0]["kv_cache_gb"] * 2**30')
    ),
}


class Hub(BaseHTTPRequestHandler):
    """The routes of the Hub that the tools use, for the models in a folder."""

    protocol_version = "HTTP/1.1"

    def __init__(self, root: Path, *given: object) -> None:
        self.root = root
        super().__init__(*given)  # type: ignore[arg-type]

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            self.reply(json.dumps(self.listing(self.root / parts[3], "tree" in parts)).encode())
        elif "resolve" in parts and (file := self.root / parts[1] / parts[-1]).exists():
            self.send_part(file)
        else:
            self.reply(b"", 404, {"X-Error-Code": "EntryNotFound"})

    def do_HEAD(self) -> None:
        self.do_GET()

    def listing(self, folder: Path, as_tree: bool) -> object:
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        if as_tree:
            return [{"type": "file", "path": name, "size": size, "oid": "0"} for name, size in sizes.items()]
        files = [{"rfilename": name, "size": size} for name, size in sizes.items()]
        name, config = f"org/{folder.name}", json.loads((folder / "config.json").read_text())
        about = {"id": name, "modelId": name, "sha": "0" * 40, "private": False, "tags": ["transformers"]}
        return {**about, "library_name": "transformers", "config": config, "siblings": files}

    def send_part(self, file: Path) -> None:
        size, span = file.stat().st_size, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = (int(span[1]), min(int(span[2]), size - 1)) if span else (0, size - 1)
        with file.open("rb") as opened:
            opened.seek(first)
            data = opened.read(last - first + 1)
        about = {"X-Repo-Commit": "0" * 40, "ETag": '"x"'}
        if span:
            about["Content-Range"] = f"bytes {first}-{last}/{size}"
        self.reply(data, 206 if span else 200, about)

    def reply(self, data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


def write_model(folder: Path, name: str, architecture: str) -> tuple[int, int | None]:
    """Write a config and a header; return the bytes of the tensors, and of transformers' cache if any."""
    import torch
    import transformers

    raw = json.loads((CONFIGS / f"{name}.json").read_text())
    folder.mkdir()
    own = {"architectures": [architecture], "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps({**raw, **own}))
    config = transformers.CONFIG_MAPPING[raw["model_type"]].from_dict(raw)
    with torch.device("meta"):
        model = getattr(transformers, architecture)(config).to(torch.bfloat16)
    seen, header, offset = set[int](), {}, 0
    for key, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:  # tied tensors are stored once
            seen.add(id(tensor))
            end = offset + tensor.numel() * ELEMENT_BYTES
            header[key] = {"dtype": "BF16", "shape": [*tensor.shape], "data_offsets": [offset, end]}
            offset = end
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)
    if not architecture.endswith("CausalLM") and not architecture.endswith("LMHeadModel"):
        return offset, None
    with torch.device("meta"):
        cache = model(torch.zeros(1, TOKENS, dtype=torch.long), use_cache=True).past_key_values
    kept = [one for layer in cache.layers for one in (layer.keys, layer.values)]
    return offset, sum(one.numel() * ELEMENT_BYTES for one in kept)


def patch_tools(folder: Path, hub: str) -> None:
    """Copy the tools that contain the Hub's address, with the address of this server."""
    for name in ("hf_mem", "kvfit"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            shutil.copytree(spec.submodule_search_locations[0], folder / name)
    for path in folder.rglob("*.py"):
        path.write_text(path.read_text().replace("https://huggingface.co", hub))


def ask(code: str, full_name: str, folder: Path, hub: str, patched: Path) -> list[int | None]:
    """Return the bytes of the weights and of the cache that a tool reports; None if it refuses."""
    found: list[int | None] = []
    for part in code.split("# cache"):
        given = {**os.environ, "HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0"}
        given["PYTHONPATH"] = f"{patched}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        lines = f"import json\n{part.format(full_name=full_name, name=folder.name, folder=folder)}"
        done = subprocess.run(
            [sys.executable, "-c", lines], capture_output=True, text=True, env=given, check=False
        )
        answer = done.stdout[done.stdout.rfind("=") + 1 :].strip() if "=" in done.stdout else ""
        found.append(int(float(answer)) if done.returncode == 0 and answer not in ("", "None") else None)
    return [*found, None][:2]


def describe(found: list[int | None], expected: list[int | None]) -> str:
    """Return how many numbers are exact, how many are not (with the largest error), and how many missing."""
    pairs = [(one, truth) for one, truth in zip(found, expected, strict=True) if truth]
    errors = [one / truth - 1 for one, truth in pairs if one is not None and one != truth]
    worst = f" ({max(errors, key=abs):+.3%})" if errors else ""
    missing = sum(one is None for one, _ in pairs)
    return f"{len(pairs) - len(errors) - missing} | {len(errors)}{worst} | {missing}"


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root, patched = Path(temporary, "hub"), Path(temporary, "patched")
        root.mkdir()
        patched.mkdir()
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, root))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hub = f"http://127.0.0.1:{server.server_port}"
        patch_tools(patched, hub)
        folders = [root / name.partition("--")[2] for name in MODELS]
        truth = [write_model(one, *model) for one, model in zip(folders, MODELS.items(), strict=True)]
        weights, caches = ([*column] for column in zip(*truth, strict=True))
        print("| tool | weights exact | wrong | refused | cache exact | wrong | refused |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for tool, code in ASK.items():
            found = [
                ask(code, name.replace("--", "/"), one, hub, patched)
                for name, one in zip(MODELS, folders, strict=True)
            ]
            sizes, kept = ([*column] for column in zip(*found, strict=True))
            print(f"| {tool} | {describe(sizes, weights)} | {describe(kept, caches)} |")


if __name__ == "__main__":
    main()
