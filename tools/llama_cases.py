"""Records tests/gguf/cases.json: the types that llama-quantize reports, for one config of each class.

`python -m tools.llama_cases LLAMA_CPP RECORDS LLAMA_QUANTIZE` takes conversions of tools/from_llama.py. It
keeps the cases of the file, and its snapshots, which are digests of llama.cpp/tests/snapshots.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from archspec.gguf.types import BLOCKS, FILES, FileTensor
from tools.from_llama import Converter
from tools.llama_rules import PATH as RULES

PATH = Path(__file__).parent.parent / "tests" / "gguf" / "cases.json"
_OPTIONS = (
    *("Q4_K_M --pure", "Q4_0 --pure", "Q3_K_M --leave-output-tensor"),
    "Q4_K_M --output-tensor-type Q8_0 --token-embedding-type F16",
    "Q3_K_M --tensor-type blk.[0-3].attn_(v|q)=q5_k --tensor-type attn_v=q4_0",
    r"Q4_0 --tensor-type embd=q8_0 --tensor-type \d.ffn_down=iq4_xs --token-embedding-type q5_0",
)
_LINE = re.compile(r"\[ *\d+/ *\d+\] +(\S+) +- \[.*\], type = +(\S+), size = .*?(?:\((\S+)\))?$")


def types_of(program: str, path: Path, recipe: str) -> dict[str, str]:
    """Return the type of each tensor; nothing if llama-quantize refuses the file."""
    name, *options = recipe.split()
    call = [program, "--dry-run", *options, str(path), name]
    run = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
    lines = [_LINE.match(line.strip()) for line in (run.stdout + run.stderr).splitlines()]
    return {line[1]: (line[3] or line[2]).upper() for line in lines if line and not run.returncode}


def case_of(
    converter: Converter, record: dict[str, Any], program: str, recipes: Sequence[str]
) -> dict[str, Any] | None:
    """Return the bytes by type of the file, and a digest of all types; None if no type is possible."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.gguf")
        made = converter.attempt(record["cls"], copy.deepcopy(record["raw"]), path)["tensors"]
        reported = {recipe: types_of(program, path, recipe) for recipe in recipes}
    sizes, lines = dict[str, int](), list[str]()
    for recipe, types in reported.items():
        found = [FileTensor(name, (), tuple(made[name][0]), kind) for name, kind in types.items()]
        if found and all(one.shape[-1] % BLOCKS[one.type][0] == 0 for one in found):
            sizes[recipe] = sum(one.bytes for one in found)
            lines += [f"{recipe} {one.name} {one.type}" for one in found]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    found_case = {"architecture": record["cls"], "config": record["raw"], "bytes": sizes, "digest": digest}
    return found_case if sizes else None


def main(source: str, records: str, program: str) -> None:
    """Record the first config that llama-quantize accepts of each class without a case."""
    converter, table = Converter(source), json.loads(PATH.read_text(encoding="utf-8"))
    classes = json.loads(RULES.read_text(encoding="utf-8"))["classes"]
    cases = {case["architecture"]: case for case in table["cases"] if case["architecture"] in classes}
    for line in Path(records).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        converter.no_mtp |= {record["cls"]} if record.get("no_mtp") else set()
        if record["cls"] not in {*classes} - {*cases}:
            continue
        # every second type, the other ones for the next class, so that the test is fast
        recipes = (*FILES, *_OPTIONS)[sorted(classes).index(record["cls"]) % 2 :: 2]
        if case := case_of(converter, record, program, recipes):
            cases[record["cls"]] = case
    head = json.dumps({"about": table["about"], "untested": sorted({*classes} - {*cases})})
    ordered, snapshots = (cases[name] for name in sorted(cases)), table["snapshots"]
    parts = [f"{head[:-1]},", '"cases": [', ",\n".join(map(json.dumps, ordered)), "],", '"snapshots": [']
    parts += [",\n".join(map(json.dumps, snapshots)), "]}\n"]
    PATH.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
