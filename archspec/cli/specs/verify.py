"""`archspec verify`: specs held to transformers, tensor for tensor."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import add_samples, add_specs
from archspec.cli.command_line import Arguments, Values
from archspec.errors import ArchspecError
from archspec.specs.search_path import library_of
from archspec.terminal import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from archspec.verifying.campaign import Report, Result
    from archspec.verifying.comparison import Difference

_SHOWN = 3
RELEASE = "release"  # what --changed stands for without a commit


def add_arguments(takes: Arguments) -> None:
    takes.value("names", "ARCHITECTURE|MODEL_TYPE", "what to verify", nargs="*")
    add_specs(takes)
    takes.flag("--all", "everything that is described")
    about_changed = (
        "specs that differ from a commit (HEAD), and those that use them; where another transformers is "
        "installed, and no commit named: what that release has anew, has no more, and builds otherwise"
    )
    takes.value("--changed", "COMMIT", about_changed, nargs="?", const=RELEASE)
    add_samples(
        takes, 20, "random configs beside the default one (default: 20); from 10 on also some for each branch"
    )
    about_output = (
        "with --changed beside another transformers: where drafts of new classes go (default: drafts)"
    )
    takes.value("--output", "DIR", about_output, default="drafts")
    takes.value("--jobs", "J", "processes (default: one a core)", type=int, default=0)
    takes.value("--json", "FILE", "write the report as JSON; - is standard output")
    takes.flag("--coverage", "verify what has changed and write docs/coverage.md")
    takes.flag("--check", "with --coverage: write nothing, fail where it is stale")
    takes.flag("--costs", "FLOPs by module and the cache, in place of the tensors")
    takes.flag(
        "--formulas", "with --costs: their closed forms, held to the counts and to torch's polynomials"
    )


def run(args: Values) -> int:
    from archspec.verifying.pool import cores

    jobs = args.jobs if args.jobs > 0 else cores()
    if args.specs and (args.costs or args.coverage or args.check):
        raise ArchspecError("--specs is for the tensors of specs", help="leave --costs and --coverage out")
    if args.costs:
        from archspec.cli.specs.verify_costs import run as run_costs

        return run_costs(args, jobs)
    if args.coverage or args.check:
        return _coverage(args, jobs)
    from archspec import __version__
    from archspec.cli.specs import release
    from archspec.cli.specs.verify_own import every, results, split
    from archspec.verifying import campaign

    library = library_of(args.specs)
    own, names = split(args.names, library)
    if args.specs and not (args.names or args.all or args.changed):
        own = every(library, args.specs)
    if [bool(own or names), args.all, bool(args.changed)].count(True) != 1:
        raise ArchspecError("say what to verify: names, --all, --changed or --specs")
    if args.changed == RELEASE and release.is_another():
        return _release(args, jobs)
    if args.all:
        chosen = campaign.everything()
    elif args.changed:
        chosen = campaign.changed() if args.changed == RELEASE else campaign.changed(args.changed)
    else:
        chosen = campaign.named(names)
    with progress("verifying") as show:
        done = _telling(show, len(own) + sum(map(len, chosen.values())))
        mine = results(own, args.samples, args.seed, done)
        report = campaign.run(chosen, args.samples, args.seed, jobs, done).after(mine)
    if args.json:
        _write_json(args.json, {"archspec": __version__, **report.as_json()})
    for line in _report(report, {one.architecture for one in own}):
        print(line, file=sys.stderr if args.json == "-" else sys.stdout)
    missing = any(result.outcome.verdict == "unavailable" for result in mine)
    return 1 if report.count("wrong") else 2 if missing else 0


def _release(args: Values, jobs: int) -> int:
    from archspec import __version__
    from archspec.cli.specs import release

    with progress("verifying") as show:
        report, lines = release.run(release.SAMPLES, args.seed, jobs, args.output, _telling(show, 0))
    if args.json:
        _write_json(args.json, {"archspec": __version__, "listed": lines, **report.as_json()})
    for line in (*lines, *_report(report)):
        print(line, file=sys.stderr if args.json == "-" else sys.stdout)
    return 1 if report.count("wrong") else 0


def _coverage(args: Values, jobs: int) -> int:
    from archspec.verifying import coverage

    if args.check:
        problems = coverage.stale()
        for problem in problems:
            print(problem)
        return 1 if problems else 0
    with progress("verifying") as show:
        done = _telling(show, 0)
        wrong = coverage.update(args.samples, args.seed, jobs, done, everything=args.all)
    return 1 if wrong else 0


def _write_json(path: str, value: Any) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ArchspecError(f"{path}: {error.strerror or error}") from None


def _telling(show: Callable[..., None], total: int) -> Callable[[list[Result]], None]:
    """Shows how many architectures are verified, and how many of them are wrong."""
    seen: list[Result] = []

    def done(results: list[Result]) -> None:
        seen.extend(results)
        wrong = sum(result.outcome.verdict == "wrong" for result in seen)
        show(len(seen), total, f"{wrong} wrong  {results[-1].outcome.model_type:24.24}")

    return done


def _report(report: Report, own: Collection[str] = ()) -> Iterator[str]:
    """Each difference once, under the line of the spec that it is laid on; then the totals.

    ``own`` are architectures that are held to other code than transformers'.
    """
    causes: dict[tuple[str, ...], list[Difference]] = {}
    for result in report.results:
        for difference in result.outcome.differences:
            place = next(iter(difference.places), f"formulas/{result.outcome.model_type}.yaml")
            causes.setdefault((place.rpartition(":")[0] or place, difference.kind), []).append(difference)
    for (place, kind), differences in sorted(causes.items()):
        lines = _cause(place, kind, differences)
        is_own = differences[0].architecture in own
        yield from (line.replace("transformers", "the code", 1) if is_own else line for line in lines)
    for result in report.results:
        if result.outcome.unavailable:
            outcome = result.outcome
            yield f"{outcome.architecture} ({outcome.model_type}): not here: {outcome.unavailable}"
    exact, wrong, unavailable = (report.count(verdict) for verdict in ("exact", "wrong", "unavailable"))
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    rest = f", {unavailable} not instantiable here" if unavailable else ""
    configs = sum(result.outcome.compared for result in report.results)
    cores = sum(result.seconds for result in report.results)
    yield f"{exact} exact, {wrong} wrong{rest}: {configs:,} configs compared, tensor for tensor"
    yield f"{report.seconds:.1f} s, {cores:.1f} s of one core"
    yield f"{versions}; --samples {report.samples} --seed {report.seed}"


_SAID = {
    "missing": "transformers has a tensor that the spec does not give",
    "extra": "the spec gives a tensor that transformers does not have",
    "shape": "another shape",
    "kind": "a parameter on one side, a buffer on the other",
    "frozen": "requires_grad differs",
    "tie": "tied on one side, or to another tensor",
    "embedding": "of the embedding split on one side, or as another part: "
    "nn.Embedding or get_output_embeddings()",
    "accepted": "transformers refuses a config that the spec counts",
    "refused": "the spec refuses a config that transformers builds",
    "unmentioned": "a field that changes the layout and is not in the spec",
    "default": "another default",
    "alias": "a name that transformers knows the field by",
    "readonly": "a name that only one side refuses to be given",
    "few": "too few random configs are valid",
    "spec": "a spec that is not well formed",
    "crash": "a bug of archspec, or a process that died",
}


def _cause(place: str, kind: str, differences: list[Difference]) -> Iterator[str]:
    classes = list(dict.fromkeys(difference.architecture for difference in differences))
    more = f" and {len(classes) - _SHOWN} more" if len(classes) > _SHOWN else ""
    yield f"{place}: {kind}: {_SAID.get(kind, kind)} ({', '.join(classes[:_SHOWN])}{more})"
    names: dict[str, Difference] = {}  # each with its shortest config
    for difference in sorted(differences, key=lambda one: len(json.dumps(one.config, default=str))):
        names.setdefault(difference.name, difference)
    for difference in list(names.values())[:_SHOWN]:
        name = f"{difference.name}: " if difference.name else ""
        expected, found = difference.expected or "nothing", difference.found or "nothing"
        yield f"    {name}transformers {expected}, the spec {found}"
    if len(names) > _SHOWN:
        yield f"    and {len(names) - _SHOWN} more names"
    first = next(iter(names.values()))
    config = {key: value for key, value in first.config.items() if key != "model_type"}
    if config or first.kind not in ("default", "alias", "readonly", "crash", "few"):
        yield f"    at {json.dumps(config, default=str) if config else 'the default config'}"
    if len(first.places) > 1:
        yield f"    by way of {', '.join(place.rpartition(':')[0] for place in first.places[1:])}"
