"""`archspec verify`: specs validated against transformers, tensor by tensor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from archspec.cli.command_line import Values, combination_error, require
from archspec.cli.run import arguments, print_json
from archspec.cli.verbs import check_samples
from archspec.errors import ArchspecError
from archspec.terminal import print_report, print_sentence, progress

if TYPE_CHECKING:
    from archspec.authoring.verify import Verification

RELEASE = "release"  # what --changed stands for without a commit


def verify(args: Values) -> int:
    """Verify the tensors of specs, or what --costs and --coverage ask for; print the report."""
    from archspec.verifying.pool import available_cores

    _check_options(args)
    args.jobs = args.jobs or available_cores()
    if args.costs:
        from archspec.cli.verify_costs import verify_costs

        return verify_costs(args)
    if args.coverage:
        return _update_coverage(args)
    found = _verify(args)
    if args.json:
        print_json(found.as_json())
        print_sentence(str(found), sys.stderr)
    else:
        print_report(found.blocks())
    missing = any(one.outcome.unavailable and one.outcome.architecture in found.own for one in found.results)
    return 1 if found.count("wrong") else 2 if missing else 0


def _check_options(args: Values) -> None:
    """Raise an :class:`ArchspecError` for options that have no effect together."""
    for option in ("coverage", "check", *(("all", "changed") if args.costs else ())):
        if args.names and option in args.given:
            message = f"--{option} cannot be combined with class names or model types"
            raise ArchspecError(message, help=f"leave out --{option}, or the names")
    for option in ("specs", "json"):
        if option in args.given and (args.costs or args.coverage or args.check):
            others = [name for name in ("costs", "coverage", "check") if getattr(args, name)]
            raise combination_error(f"--{option}", f"--{others[0]}")
    check_samples(args)
    require(args, "check", "--coverage or --costs", args.coverage or args.costs)
    if "jobs" in args.given and args.jobs < 1:
        raise ArchspecError(f"--jobs must be at least 1, not {args.jobs}", help="pass --jobs 1 or more")


def _verify(args: Values) -> Verification:
    from archspec.authoring.verify import Verification, result_counter, verify
    from archspec.cli import release

    with progress("verifying") as shown:
        if args.changed == RELEASE and not (args.names or args.all) and release.is_another():
            if "samples" in args.given:
                message = "--samples has no effect with another version of transformers"
                raise ArchspecError(message, help="leave out --samples")
            done = result_counter(shown, 0)
            report, lines = release.verify_release(args.seed, args.jobs, args.output, done, args.overwrite)
            return Verification(report, listed=lines)
        given = arguments("verify", args, without=("changed", "jobs"))
        changed = "HEAD" if args.changed == RELEASE else args.changed
        return verify(**given, changed=changed, jobs=args.jobs, progress=shown)


def _update_coverage(args: Values) -> int:
    from archspec.authoring.verify import result_counter
    from archspec.verifying import coverage

    if args.check:
        problems = coverage.stale_lines()
        for line in problems or ["fresh"]:
            print(line)
        return 1 if problems else 0
    with progress("verifying") as shown:
        wrong = coverage.update(
            args.samples, args.seed, args.jobs, result_counter(shown, 0), everything=args.all
        )
    return 1 if wrong else 0
