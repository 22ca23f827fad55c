"""`archspec verify`: specs held to transformers, tensor for tensor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from archspec.cli.arguments import (
    add_json,
    add_overwrite,
    add_samples,
    add_specs,
    excludes,
    needs,
    print_json,
)
from archspec.cli.command_line import Arguments, Values
from archspec.errors import ArchspecError
from archspec.terminal import progress, say, show

if TYPE_CHECKING:
    from archspec.authoring.verify import Verification

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
    add_samples(takes, 20, "random configs beside the default one (20); from 10 on also some for each branch")
    about_output = "with --changed beside another transformers: where drafts of new classes go (drafts)"
    takes.value("--output", "DIR", about_output, default="drafts")
    add_overwrite(takes)
    takes.value("--jobs", "J", "processes (one a core)", type=int, default=0)
    takes.flag("--coverage", "verify what has changed and write docs/coverage.md")
    takes.flag("--check", "with --coverage: write nothing, fail where it is stale")
    takes.flag("--costs", "FLOPs by module and the cache, in place of the tensors")
    takes.flag(
        "--formulas", "with --costs: their closed forms, held to the counts and to torch's polynomials"
    )
    add_json(takes)


def run(args: Values) -> int:
    from archspec.verifying.pool import cores

    _check_options(args)
    jobs = args.jobs if args.jobs > 0 else cores()
    for option, given in (("--specs", args.specs), ("--json", args.json)):
        if given and (args.costs or args.coverage or args.check):
            message = f"{option} is for the tensors of specs"
            raise ArchspecError(message, help="leave --costs, --coverage and --check out")
    if args.costs:
        from archspec.cli.specs.verify_costs import run as run_costs

        return run_costs(args, jobs)
    if args.coverage or args.check:
        return _coverage(args, jobs)
    found = _verified(args, jobs)
    if args.json:
        print_json(found.as_json())
        say(str(found), sys.stderr)
    else:
        show(found.blocks())
    missing = any(one.outcome.unavailable and one.outcome.architecture in found.own for one in found.results)
    return 1 if found.count("wrong") else 2 if missing else 0


def _check_options(args: Values) -> None:
    """Errors: :class:`ArchspecError` for options that have no effect together."""
    needs(args, "--costs", "--formulas")
    needs(args, "--changed", "--output")
    drawn = ("--samples", "--seed", "--jobs")
    excludes(args, "--check", *drawn, "--all", "--changed", "--formulas")
    excludes(args, "--formulas", *drawn, "--coverage")
    excludes(args, "--coverage", "--changed")
    if args.names:
        excludes(args, "names", "--coverage", "--check", met=True)
        excludes(args, "names", "--all", "--changed", met=bool(args.costs))


def _verified(args: Values, jobs: int) -> Verification:
    from archspec.authoring.verify import Verification, telling, verify
    from archspec.cli.specs import release

    with progress("verifying") as told:
        if args.changed == RELEASE and not (args.names or args.all) and release.is_another():
            excludes(args, "another transformers", "--samples", met=True)
            done = telling(told, 0)
            report, lines = release.run(release.SAMPLES, args.seed, jobs, args.output, done, args.overwrite)
            return Verification(report, listed=lines)
        return verify(
            args.names,
            specs=args.specs,
            all=args.all,
            changed="HEAD" if args.changed == RELEASE else args.changed,
            samples=args.samples,
            seed=args.seed,
            jobs=jobs,
            progress=told,
        )


def _coverage(args: Values, jobs: int) -> int:
    from archspec.authoring.verify import telling
    from archspec.verifying import coverage

    if args.check:
        problems = coverage.stale()
        for problem in problems:
            print(problem)
        return 1 if problems else 0
    with progress("verifying") as told:
        wrong = coverage.update(args.samples, args.seed, jobs, telling(told, 0), everything=args.all)
    return 1 if wrong else 0
