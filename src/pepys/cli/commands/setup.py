"""`pepys setup`: set Pepys up in agents, or take it out again."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument, InvalidConfiguration, PepysError
from pepys.setup import standing
from pepys.setup.pieces import Owner
from pepys.setup.targets import TARGETS
from pepys.spelling import counted

if TYPE_CHECKING:
    from pepys.setup.plan import Change, Plan
    from pepys.setup.standing import Standing
    from pepys.setup.targets import Machine

UNWRITTEN = 2
"""Exit status where something was to be written, nobody could be asked, and --yes was not given."""

_STATES = {  # in words, which are about Pepys and not about the agent, and their style
    "installed": ("Pepys set up", "green"),
    "outdated": ("Pepys outdated", "yellow"),
    "conflict": ("conflict", "bold red"),
    "not installed": ("Pepys not set up", "dim"),
}
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


class Job(NamedTuple):
    """What is to be done for one target, or why it cannot be."""

    owner: Owner
    plan: Plan | None
    problems: tuple[PepysError, ...]

    @property
    def writes(self) -> bool:
        """Whether it changes files."""
        return self.plan is not None and self.plan.writes


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the targets and how to go about them."""
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)}; nothing: how each of them stands"
    )
    parser.add_argument("--remove", action="store_true", help="take it out again; without TARGET: everywhere")
    parser.add_argument("--project", action="store_true", help="for the project in the working directory alone")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")
    parser.add_argument("--force", action="store_true", help="take the place of what is not Pepys's; it is kept")
    parser.add_argument(
        "--full", action="store_true", help="show Pepys's own files too, not only that they are written"
    )
    parser.add_argument("--no-index", action="store_true", help="do not build the index when a host is set up")


def run(args: argparse.Namespace, out: Output) -> int:
    """Show what will change, ask, and do it. One target that fails keeps no other from being done."""
    for name in args.targets:
        if name not in TARGETS:
            from pepys.spelling import suggestion

            raise InvalidArgument(f"There is no target {name!r}{suggestion(name, TARGETS)}.", hint=_known())
    keywords = options.keywords(args, os.environ)
    machine = standing.machine(os.environ, keywords["cwd"], keywords["agent_dir"])
    if not args.targets and not args.remove:
        return _list(standing.standings(machine), out)
    if not args.remove:
        _need_extras(args.targets)
    jobs = _removals(args, machine) if args.remove else [_setup(name, machine, args) for name in args.targets]
    if not out.as_json:
        _show(jobs, args, out)
    asked = not args.dry_run and any(job.writes for job in jobs)
    agreed = asked and (args.yes or _agreed(jobs, out))
    done = [*jobs] if args.dry_run or (asked and not agreed) else [_done(job, out) for job in jobs]
    if out.as_json:
        out.json({"written": agreed, "targets": [_listed(job) for job in done]})
    elif not asked and not any(job.problems for job in done):
        out.note("Nothing was written." if args.dry_run else "Nothing to do: all of it is as it should be.")
    if agreed and not args.remove and not args.no_index and any(_is_host(job) for job in done):
        _build_index(args, out)
    problem = next((problem for job in done for problem in job.problems), None)
    if problem is not None:
        return problem.exit_status
    return UNWRITTEN if asked and not agreed and not _is_interactive(out) else 0


def _known() -> str:
    return f"Targets are {', '.join(TARGETS)}."


def _need_extras(names: Iterable[str]) -> None:
    for name in names:
        if missing := standing.missing_extra(name):
            raise InvalidConfiguration(
                f"{TARGETS[name].title} would start `pepys {missing}`, which is not installed; nothing was written.",
                hint=f"Install it: pip install 'pepys[{missing}]'",
            )


def _setup(name: str, machine: Machine, args: argparse.Namespace) -> Job:
    owner = Owner(name, machine.around.cwd if args.project else "")
    try:
        plan = standing.setting_up(name, machine, project=args.project, force=args.force)
    except PepysError as error:
        return Job(owner, None, (error,))
    return Job(owner, plan, plan.conflicts)


def _removals(args: argparse.Namespace, machine: Machine) -> list[Job]:
    from pepys.setup import ledger

    env = machine.around.env
    owners: Sequence[Owner] = [Owner(name, machine.around.cwd if args.project else "") for name in args.targets]
    if not owners:
        owners = [each for each in ledger.load(env).owners() if not args.project or each.project == machine.around.cwd]
    jobs = []
    for owner in owners:
        plan = standing.taking_back(owner, env, force=args.force)
        jobs.append(Job(owner, plan, plan.conflicts))
    return jobs


def _done(job: Job, out: Output) -> Job:
    """Carry *job* out, unless it has a problem; what fails is said, and becomes its problem."""
    from pepys.setup import files

    if job.plan is None or job.problems:
        return job
    try:
        copies = files.carry_out(job.plan, os.environ)
    except PepysError as error:
        if not out.as_json:
            out.error(error)
        return job._replace(problems=(error,))
    if job.writes and not out.as_json:
        out.note(Span(f"{job.owner}: done.", "green"))
        for copy in copies:
            out.note(f"A copy of what was removed is {copy}")
    return job


def _is_host(job: Job) -> bool:
    return not job.problems and not TARGETS[job.owner.target].extra


def _build_index(args: argparse.Namespace, out: Output) -> None:
    """The first search is then as quick as every other; whatever goes wrong here comes up again with it."""
    try:
        with options.opened(args, out) as workspace:
            refreshed = workspace.history.refresh()
    except PepysError as error:
        out.note(f"The index was not built: {error.message}")
        return
    if refreshed.sources and not out.as_json:
        out.note(f"The index holds {counted(refreshed.sources, 'session')}.")


# What will change


def _show(jobs: Sequence[Job], args: argparse.Namespace, out: Output) -> None:
    for job in jobs:
        for problem in job.problems:
            out.error(problem)
        for change in job.plan.changes if job.plan and not job.problems else ():
            if change.writes:
                _show_change(change, args, out)


def _show_change(change: Change, args: argparse.Namespace, out: Output) -> None:
    own = change.kept is not None and change.kept.written is None
    if own and not args.full:
        doing = "new" if change.before is None else "changed" if change.after is not None else "removed"
        lines = (change.after or b"").count(b"\n")
        out.line(Span(f"{doing:<8}", "green"), f"{change.path} ({counted(lines, 'line')})")
        return
    if change.kept is None and change.after is None and not args.full:
        out.line(Span("removed ", "red"), str(change.path))
        return
    real = Path(os.path.realpath(change.path))
    if real != change.path:
        out.line(Span(f"{change.path} is a link to {real}", "dim"))
    for line in diff(change):
        out.line(Span(line, "bold" if line.startswith(("+++", "---")) else _DIFF.get(line[:1], "")))


def diff(change: Change) -> list[str]:
    """*change* as a unified diff, in lines without their ends."""
    import difflib

    def lines(data: bytes | None) -> list[str]:
        text = (data or b"").decode("utf-8", "backslashreplace")
        return [line + "\n" for line in text.split("\n")[:-1]] + [last for last in text.split("\n")[-1:] if last]

    path = str(change.path)
    names = ("/dev/null" if change.before is None else path, "/dev/null" if change.after is None else path)
    shown = []
    for line in difflib.unified_diff(lines(change.before), lines(change.after), *names, lineterm="\n"):
        shown.append(line.rstrip("\r\n"))
        if not line.endswith("\n"):
            shown.append("\\ No newline at end of file")
    return shown


def _is_interactive(out: Output) -> bool:
    return not out.as_json and sys.stdin.isatty() and out.stdout.isatty()


def _agreed(jobs: Sequence[Job], out: Output) -> bool:
    if not _is_interactive(out):
        if not out.as_json:
            out.note("Nothing was written: this is no terminal to ask on. --yes writes it.")
        return False
    count = sum(change.writes for job in jobs if job.plan for change in job.plan.changes if not job.problems)
    question = f"Make {'this change' if count == 1 else f'these {count} changes'}? y/N "
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        out.note()
        return False


def _listed(job: Job) -> dict[str, object]:
    changes = job.plan.changes if job.plan else ()
    listed: dict[str, object] = {
        "target": job.owner.target,
        "project": job.owner.project or None,
        "changes": [{"path": str(change.path), "diff": "\n".join(diff(change))} for change in changes if change.writes],
    }
    if job.problems:
        listed["errors"] = [problem.as_json() for problem in job.problems]
    return listed


# How targets stand


def _list(standings: Sequence[Standing], out: Output) -> int:
    if out.as_json:
        out.json(
            {
                "targets": [
                    {
                        "target": each.target,
                        "title": TARGETS[each.target].title,
                        "found": each.found,
                        "state": each.state,
                        **({"version": each.kept.version} if each.kept else {}),
                        **({"error": each.problem.as_json()} if each.problem else {}),
                    }
                    for each in standings
                ]
            }
        )
        return 0
    shown = [each for each in standings if each.found or each.kept]
    rows = [_row(each) for each in shown]
    if out.stdout.isatty():
        out.table(rows)
    else:
        cells = [["".join(span.text for span in cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            out.line("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    others = [each.target for each in standings if each not in shown]
    if others:
        out.note(Span(f"Not found on this machine: {', '.join(others)}", "dim"))
    missing = [each.target for each in shown if each.state == "not installed"]
    if missing:
        out.note(f"Set them up: pepys setup {' '.join(missing)}")
    return 0


def _row(each: Standing) -> tuple[list[Span], list[Span], list[Span]]:
    words, style = _STATES[each.state]
    name = [Span(TARGETS[each.target].title, "bold"), Span(f" ({each.target})", "dim")]
    return name, [Span(words, style)], [Span(_remark(each))]


def _remark(each: Standing) -> str:
    if each.problem is not None:
        return each.problem.message
    return f"`pepys setup {each.target}` brings it up to date" if each.state == "outdated" else ""
