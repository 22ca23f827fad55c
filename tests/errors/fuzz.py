"""Mutates configs, overrides, spec files and expressions; only an ArchspecError may come out, and in time.

    python tests/fuzz.py --seconds 600 --seed 1

What it finds is printed with the input, and becomes a case of tests/errors or of tests/test_errors.py.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from archspec.configs.choice import choose  # noqa: E402
from archspec.configs.notes import notes  # noqa: E402
from archspec.configs.overrides import check_overrides, parse_override  # noqa: E402
from archspec.configs.reader import read_config  # noqa: E402
from archspec.configs.scope import Scope  # noqa: E402
from archspec.errors import ArchspecError, Problem, Source, SpecError  # noqa: E402
from archspec.language.yaml_reader import compact, parse  # noqa: E402
from archspec.specs.library import shipped  # noqa: E402
from archspec.tree.builder import Builder  # noqa: E402
from archspec.tree.counts import quantities_of  # noqa: E402
from archspec.tree.tensors import tensors  # noqa: E402

LIMIT = 10  # seconds of the processor for one case
TOY = ROOT / "tests" / "errors" / "specs" / "toy.yaml"
Random = random.Random
VALUES: tuple[Any, ...] = (
    *(
        0,
        1,
        2,
        -1,
        3,
        7,
        64,
        10**6,
        2**31,
        2**63 - 1,
        2**63,
        10**30,
        0.5,
        -0.0,
        1e-9,
        1e300,
        float("inf"),
        float("nan"),
    ),
    *(True, False, None, "", "full", "true", "llama", "__class__", "\0", "é", "\ud800", "a" * 5000),
    *([], [0], [1, 2, 3], [[1], [2]], [None], ["a", 1], [[[[]]]], {}, {"0": 1}),
    *({"model_type": "bert"}, {"model_type": "timm_backbone"}),
)
WORDS = """
( ) [ ] { } , : = + - * ** / // % < <= == != . if else for in not and or is lambda None True False
true null 0 1 -1 2**4000 9**9 1e999 0.5 'a' "b" i n x range(n) range(10**9) len sum max int str
round list zip enumerate Linear(1,2) Embedding(3,4) Parameter() Sequential() ToyLayer(i) ToyModel()
AutoModel(x) weight_norm(Conv1d(1,1,1)) .requires_grad_(False) .routed(1,2) .get('a') .split('')
.__class__ __import__('os') self given('x') **{} *[] := ~ @ # hidden_size num_layers kinds depths
ratio rank bias width tie_word_embeddings model_type text_config &a *a !t | > - ? ---
""".split()  # noqa: SIM905


class TooSlow(BaseException):
    """A case that did not end; no `except Exception` may hide it."""


def count(model_type: str, architecture: str, raw: Any) -> None:
    spec = shipped().load(model_type)
    scope = Scope(spec, raw)
    scope.validate()
    quantities_of(tensors(Builder(scope).build(architecture)))


def mutated_text(text: str, random: Random) -> str:
    """A text with some of its pieces dropped, doubled, swapped, or replaced by others."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.choice((0, 1, 1, 2, 5, 20)))
        kind = random.randrange(6)
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + random.choice(WORDS) + text[end:]
        elif kind == 2:
            text = text[:at] + text[at:end] * random.choice((2, 2, 3, 70)) + text[end:]
        elif kind == 3:
            text = (
                text[:at]
                + chr(random.choice((0, 9, 10, 34, 39, 92, 123, 233, 0x2028, 0xFEFF, 0x1F600)))
                + text[end:]
            )
        elif kind == 4:
            lines = text.splitlines(keepends=True)
            if len(lines) > 1:
                one, other = random.randrange(len(lines)), random.randrange(len(lines))
                lines[one], lines[other] = lines[other], lines[one]
                text = "".join(lines)
        else:
            other = random.randrange(len(text) + 1)
            text = text[:at] + text[other : other + random.choice((5, 20, 60))] + text[end:]
    return text


def value(random: Random, depth: int = 0) -> Any:
    if depth < 3 and random.random() < 0.15:
        return [value(random, depth + 1) for _ in range(random.randrange(4))]
    if depth < 3 and random.random() < 0.1:
        return {str(random.choice(WORDS)): value(random, depth + 1) for _ in range(random.randrange(3))}
    return random.choice(VALUES) if random.random() < 0.7 else random.randint(-3, 300)


def config_case(random: Random, folder: Path) -> tuple[str, Callable[[], None]]:
    """A config of a real model type with fields changed, through load and the notes."""
    model_type = random.choice(shipped().model_types())
    raw: dict[str, Any] = {"model_type": model_type}
    spec = shipped().load(model_type)
    names = [
        *spec.fields,
        *spec.fixed,
        *spec.attribute_map,
        "num_labels",
        "id2label",
        "per_layer_config",
        "architectures",
    ]
    for name in names:
        if "layers" in name and random.random() < 0.9:
            raw[name] = random.randrange(3)
    for name in random.choices(names, k=random.choice((1, 1, 2, 5))):
        raw[name] = value(random)
        if random.random() < 0.2:
            raw[name] = {random.choice(names): value(random) for _ in range(2)}
    overrides = {}
    if random.random() < 0.3:
        path = random.choice(
            (random.choice(names), f"{random.choice(names)}.{random.choice(names)}", random.choice(WORDS))
        )
        overrides[path] = value(random)
    architecture = (
        random.choice((None, None, random.choice(spec.architectures))) if spec.architectures else None
    )
    shown = repr((raw, overrides, architecture))

    def run() -> None:
        config = read_config(raw, overrides)
        chosen_type, chosen = choose(config, architecture)
        check_overrides(shipped().load(chosen_type), overrides, config)
        scope = Scope(shipped().load(chosen_type), config.raw, config.origin)
        scope.validate()
        notes(config, shipped().load(chosen_type))
        quantities_of(tensors(Builder(scope).build(chosen)))

    return shown, run


def json_case(random: Random, folder: Path) -> tuple[str, Callable[[], None]]:
    """A config file with its text changed."""
    paths = sorted((ROOT / "configs").glob("*.json"))
    text = mutated_text(random.choice(paths).read_text(encoding="utf-8"), random)
    data = text.encode("utf-8", "surrogatepass")
    if random.random() < 0.1:
        at = random.randrange(len(data) + 1)
        data = data[:at] + bytes([random.randrange(256)]) + data[at:]
    path = folder / "config.json"

    def run() -> None:
        path.write_bytes(data)
        config = read_config(path)
        model_type, architecture = choose(config)
        raw = {
            **config.raw,
            **{name: 1 for name in config.raw if "layers" in name and isinstance(config.raw[name], int)},
        }
        notes(config, shipped().load(model_type))
        count(model_type, architecture, raw)

    return repr(data), run


def spec_run(text: str, folder: Path) -> Callable[[], None]:
    path = folder / "toy.yaml"

    def run() -> None:
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        spec = shipped().load_file(str(path))
        for raw in ({"num_classes": 2, "num_labels": 3}, {"num_classes": 2, "kinds": ["full", "x"]}):
            with contextlib.suppress(ArchspecError):
                scope = Scope(spec, raw)
                scope.validate()
                for condition, _ in spec.notes:
                    scope.truth(scope.read(condition), condition.tree)
                for architecture in spec.architectures:
                    with contextlib.suppress(ArchspecError):
                        quantities_of(tensors(Builder(scope).build(architecture)))

    return run


def spec_case(random: Random, folder: Path) -> tuple[str, Callable[[], None]]:
    """A spec file with its text changed: the toy, or a real one."""
    paths = [TOY] * 3 + [Path(shipped().folder) / f"{name}.yaml" for name in shipped().model_types()]
    text = mutated_text(random.choice(paths).read_text(encoding="utf-8"), random)
    return repr(text), spec_run(text, folder)


def yaml_case(random: Random, folder: Path) -> tuple[str, Callable[[], None]]:
    """A YAML text: refused, or its compact tree gives the same nodes after a round trip through JSON."""
    paths = [TOY, *Path(shipped().folder).glob("*.yaml"), *Path(shipped().folder).glob("shared/*.yaml")]
    text = mutated_text(random.choice(paths).read_text(encoding="utf-8"), random)

    def run() -> None:
        source = Source("toy.yaml", text)
        if parse(source) != parse(source, json.loads(json.dumps(compact(source)))):
            raise AssertionError("a compact tree gives other nodes")

    return repr(text), run


def expression(random: Random, depth: int = 0) -> str:
    """An expression of the language's own parts, most of them well-formed."""
    if depth > 4 or random.random() < 0.2:
        return random.choice(WORDS)
    inner = [expression(random, depth + 1) for _ in range(3)]
    forms = (
        *(
            "{0} + {1}",
            "{0} * {1}",
            "{0} ** {1}",
            "{0} // {1}",
            "{0} % {1}",
            "({0})",
            "[{0}, {1}]",
            "{0} if {1} else {2}",
        ),
        *(
            "{0}[{1}]",
            "{0}[{1}:{2}]",
            "[{0} for i in {1}]",
            "[{0} for i in {1} if {2}]",
            "{{{0}: {1}}}",
            "{{{0}: {1} for i in {2}}}",
        ),
        *(
            "len({0})",
            "sum({0})",
            "sum({0}, {1})",
            "prod({0})",
            "max({0}, {1})",
            "int({0})",
            "str({0})",
            "round({0}, {1})",
            "range({0})",
        ),
        *(
            "list({0})",
            "sorted({0})",
            "zip({0}, {1})",
            "enumerate({0})",
            "reversed({0})",
            "set({0})",
            "any({0})",
            "log({0}, {1})",
        ),
        *(
            "{0} in {1}",
            "{0} < {1} < {2}",
            "{0} and {1} or not {2}",
            "-{0}",
            "{0}.get({1})",
            "{0}.split({1})",
            "{0}.index({1})",
        ),
        *(
            "Linear({0}, {1})",
            "Linear({0}, {1}, bias={2})",
            "Embedding({0}, {1}, {2})",
            "Conv2d({0}, {1}, {2}, groups={0})",
        ),
        *(
            "LayerNorm({0})",
            "Parameter({0}, {1})",
            "LSTM({0}, {1}, {2})",
            "MultiheadAttention({0}, {1})",
            "GroupNorm({0}, {1})",
        ),
        *(
            "Sequential({0}, {1})",
            "ToyLayer({0})",
            "ToyLayer({0}, hidden_size={1})",
            "ToyModel(**{0})",
            "{0}.requires_grad_({1})",
        ),
        *(
            "{0}.routed({1}, {2})",
            "weight_norm({0}, name={1}, dim={2})",
            "Sequential(*{0})",
            "{0} for i in {1}",
            "given({0})",
        ),
    )
    return random.choice(forms).format(*inner)


def expression_case(random: Random, folder: Path) -> tuple[str, Callable[[], None]]:
    """Random expressions in every place of a spec that takes one."""
    made = [json.dumps(expression(random)) if random.random() < 0.7 else expression(random) for _ in range(5)]
    quoted = ["= " + text if text[:1] != '"' else '"= ' + text[1:] for text in made]
    text = f"""model_type: toy
config:
  {{hidden_size: 12, num_layers: 2, kinds: [full, x], depths: [1, 2], ratio: 2.0, rank: int | None = None,
    bias: true}}
fixed:
  width: {quoted[0]}
require:
  - {made[1] if random.random() < 0.3 else "hidden_size > 0"}
modules:
  ToyLayer(i):
    where:
      n: {made[2]}
      x: {made[1]}
    up: {made[3]}
    down: Linear(hidden_size, 3)
  ToyModel:
    layers: ToyLayer(i) for i in range(num_layers)
    other: {made[4]}
    alias:
      {random.choice(WORDS)!r}: {random.choice(WORDS)!r}
architectures:
  ToyModel:
"""
    return repr(text), spec_run(text, folder)


def override_case(random: Random, folder: Path) -> tuple[str, Callable[[], None]]:
    text = mutated_text('text_config.num_hidden_layers=[1, 2.5, {"a": null}]', random)

    def run() -> None:
        path, found = parse_override(text)
        config = read_config({"model_type": "llava", "text_config": {"model_type": "llama"}}, {path: found})
        check_overrides(shipped().load("llava"), {path: found}, config)

    return repr(text), run


CASES = (
    config_case,
    config_case,
    json_case,
    spec_case,
    spec_case,
    expression_case,
    expression_case,
    override_case,
    yaml_case,
)


def checked(error: ArchspecError) -> None:
    """A message can be printed, and is not empty; its places are in their sources."""
    text = str(error)
    if not text.strip() or not error.problems:
        raise AssertionError("an empty message")
    text.encode("utf-8", "backslashreplace")
    for problem in error.problems:
        if isinstance(error, SpecError) and isinstance(problem, Problem) and problem.place is not None:
            lines = problem.place.source.text.splitlines() or [""]
            if not 1 <= problem.place.line <= len(lines) + 1 or problem.place.column < 1:
                raise AssertionError(f"a place outside the file: {problem.place}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    source, started, done, found = random.Random(options.seed), time.monotonic(), Counter[str](), set[str]()

    def stop(*_: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGVTALRM, stop)
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() - started < options.seconds:
            shown, run = source.choice(CASES)(source, Path(name))
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
            outcome = "counted"
            try:
                run()
            except ArchspecError as error:
                outcome = "refused"
                if run.__qualname__.startswith("yaml_case"):  # what one reader takes the other takes too
                    outcome = report(shown, found)
                try:
                    checked(error)
                except Exception:
                    outcome = report(shown, found)
            except (Exception, TooSlow):
                outcome = report(shown, found)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            done[outcome] += 1
    seconds = time.monotonic() - started
    print(f"seed {options.seed}: {sum(done.values()):,} cases in {seconds:.0f} s: {dict(done)}")
    print(f"{len(found)} different failures")
    return 1 if found else 0


def report(shown: str, found: set[str]) -> str:
    """Prints a failure the first time that its place in the code is seen."""
    lines = traceback.format_exc().splitlines()
    place = (
        next((line.strip() for line in reversed(lines) if line.strip().startswith("File")), "")
        + lines[-1][:60]
    )
    if place not in found:
        found.add(place)
        print(f"\n=== {lines[-1][:300]}\n{shown[:3000]}\n" + "\n".join(lines[-14:]), flush=True)
    return "failed"


if __name__ == "__main__":
    sys.exit(main())
