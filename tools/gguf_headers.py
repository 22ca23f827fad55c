"""Records tests/checking/gguf.json: the headers of GGUF files that llama.cpp's converter writes.

`python -m tools.gguf_headers LLAMA_CPP` converts small random models of the configs in tests/gguf/cases.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from archspec.checkpoints.gguf import read_gguf
from tools.from_llama import Converter

TESTS = Path(__file__).parent.parent / "tests"
CLASSES = (
    *(
        "LlamaForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3MoeForCausalLM",
        "MixtralForCausalLM",
        "MambaForCausalLM",
    ),
    *("Gemma2ForCausalLM", "Phi3ForCausalLM", "Starcoder2ForCausalLM", "GPTNeoXForCausalLM", "BertModel"),
    *("DeepseekV2ForCausalLM", "T5ForConditionalGeneration", "Gemma3ForConditionalGeneration"),
)


def record(converter: Converter, case: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata and the tensors of a converted model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.gguf")
        converter.convert(case["architecture"], case["config"], path=path)
        header = read_gguf(str(path))
    tensors = {one.name: [one.dtype, one.shape] for one in header.tensors}
    values = {key: value for key, value in header.metadata.items() if type(value) in (int, str)}
    return {
        "architecture": case["architecture"],
        "config": case["config"],
        "metadata": values,
        "tensors": tensors,
    }


def main(source: str) -> None:
    """Write one record per line."""
    cases = json.loads((TESTS / "gguf" / "cases.json").read_text(encoding="utf-8"))["cases"]
    converter = Converter(source)
    rows = [json.dumps(record(converter, one)) for one in cases if one["architecture"] in CLASSES]
    (TESTS / "checking" / "gguf.json").write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
