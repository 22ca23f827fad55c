"""`archspec verify`: specs validated against transformers, tensor by tensor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from archspec.cli.command_line import Values
from archspec.cli.run import print_json
from archspec.errors import ArchspecError
from archspec.terminal import progress, say, show

if TYPE_CHECKING:
    from archspec.authoring.verify import Verification

RELEASE = "release"  # what --changed stands for without a commit


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
    excluded = ("coverage", "check", *(("all", "changed") if args.costs else ()))
    for option in excluded if args.names else ():
        if option in args.given:
            message = f"--{option} cannot be combined with names"
            raise ArchspecError(message, help=f"leave out --{option} or the names")
    if args.samples < 0:
        message = f"--samples {args.samples} is negative"
        raise ArchspecError(message, help="--samples 0 verifies the default config only")


def _verified(args: Values, jobs: int) -> Verification:
    from archspec.authoring.verify import Verification, telling, verify
    from archspec.cli.specs import release

    with progress("verifying") as told:
        if args.changed == RELEASE and not (args.names or args.all) and release.is_another():
            if "samples" in args.given:
                message = "--samples has no effect with another version of transformers"
                raise ArchspecError(message, help="leave out --samples")
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
