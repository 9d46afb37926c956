"""What `pepys doctor` says of each agent: whether Pepys is set up in it, by which version, and whether that starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pepys.checks import Check
from pepys.errors import PepysError
from pepys.setup import ledger, standing
from pepys.setup.ledger import Kept, Ledger
from pepys.setup.standing import Standing
from pepys.setup.targets import TARGETS, Machine

START_S = 20.0
"""How long a command may take to say its version."""


def made(on: Machine) -> Iterator[Check]:
    """One check for each agent that is used on the machine or was set up, and for each project that was."""
    try:
        known, standings = ledger.load(on.around.env), standing.standings(on)
    except PepysError as error:
        yield Check("agents", "action", error.message, error.hint)
        return
    broken = {command for command in _commands(known) if not _starts(command, on.around.env)}
    for each in standings:
        if each.found or each.kept is not None:
            yield _check(each, on, broken)
    for owner in known.owners():
        if owner.project and owner.target in TARGETS:
            kept = next(iter(known.of(owner).values()))
            subject = f"{TARGETS[owner.target].title} in {owner.project}"
            yield _unstartable(subject, kept, broken, f"{owner.target} --project") or Check(
                subject, "ok", f"set up by Pepys {kept.version}"
            )


def _check(each: Standing, on: Machine, broken: set[tuple[str, ...]]) -> Check:
    target, command = TARGETS[each.target], f"`pepys setup {each.target}`"
    by = f"set up by Pepys {each.kept.version}" if each.kept else "set up by hand"
    if each.kept and (check := _unstartable(target.title, each.kept, broken, each.target)):
        return check
    if each.state != "not installed" and (missing := standing.missing_extra(each.target)):
        step = f"Install it: pip install 'pepys[{missing}]'"
        return Check(target.title, "action", f"{by}, but pepys[{missing}] is not installed", step)
    match each.state:
        case "installed":
            return Check(target.title, "ok", f"{by}, with {on.command[0]}" if each.kept else by)
        case "outdated":
            finding = f"{by}; Pepys {on.version} with {on.command[0]} would write it otherwise"
            return Check(target.title, "note", finding, f"{command} brings it up to date.")
        case "conflict" if each.problem is not None:
            return Check(target.title, "note", each.problem.message, each.problem.hint)
        case _:
            return Check(target.title, "ok", "found, and Pepys is not set up in it", f"{command} does that.")


def _unstartable(subject: str, kept: Kept, broken: set[tuple[str, ...]], target: str) -> Check | None:
    if kept.command not in broken:
        return None
    finding = f"set up by Pepys {kept.version}, but {kept.command[0]} does not start it any more"
    return Check(subject, "action", finding, f"`pepys setup {target}` has it started by this Pepys.")


def _commands(known: Ledger) -> set[tuple[str, ...]]:
    return {kept.command for kept in known.files.values() if kept.command}


def _starts(command: tuple[str, ...], env: Mapping[str, str]) -> bool:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 (what Pepys itself wrote into its private list)
            [*command, "--version"], env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=START_S
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    return done.returncode == 0
