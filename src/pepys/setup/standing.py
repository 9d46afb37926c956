"""How targets stand on a machine: found or not, set up or not, and what needs the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from pepys.errors import InvalidArgument, PepysError, SetupRefused
from pepys.hosts import HOSTS
from pepys.hosts.base import Surroundings
from pepys.setup import files, ledger, plan
from pepys.setup.ledger import Kept, Ledger
from pepys.setup.pieces import Owner
from pepys.setup.plan import Plan
from pepys.setup.targets import TARGETS, Machine, wanted

State = Literal["installed", "outdated", "conflict", "not installed"]


class Standing(NamedTuple):
    """One target."""

    target: str
    found: bool  # whether the agent is used on this machine
    state: State
    problem: PepysError | None = None  # of a conflict
    kept: Kept | None = None  # of one of its files, all alike in version and command


def machine(env: Mapping[str, str], cwd: Path, agent_dir: Path | None) -> Machine:
    """The machine that this process runs on.

    Raises:
        InvalidArgument: It is not known how Python was started.
    """
    from pepys import __version__

    python = sys.executable
    if not python or not python.isprintable():
        raise InvalidArgument("The path of this Python is not known, or cannot be written into a file.")
    around = Surroundings(env, str(cwd), None if agent_dir is None else str(agent_dir))
    # -P: a project with a folder `pepys` in it must not become the program.
    return Machine(around, sys.platform, (python, "-P", "-m", "pepys"), shipped(), __version__)


@cache
def shipped() -> Mapping[str, bytes]:
    """The files that come with Pepys for agents, by path below `extensions/`."""
    import pepys

    root = Path(pepys.__file__).parent / "extensions"
    # What lies beside these folders is for those who work on the extension.
    found = (path for name in ("core", *HOSTS, "skills") for path in sorted((root / name).rglob("*")))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found if path.is_file()}


def setting_up(name: str, on: Machine, *, project: bool = False, force: bool = False) -> Plan:
    """What setting up the target *name* would do.

    Raises:
        InvalidArgument: It cannot be had.
        SetupRefused: What was written before is not known.
    """
    env = on.around.env
    known, goal = ledger.load(env), wanted(name, on, project=project)
    seen = files.look(goal.pieces, known, goal.owner)
    return plan.install(goal, seen, known, _originals(known, env), version=on.version, force=force)


def taking_back(owner: Owner, env: Mapping[str, str], *, force: bool = False) -> Plan:
    """What taking back all that was written for *owner* would do.

    Raises:
        SetupRefused: What was written before is not known.
    """
    known = ledger.load(env)
    return plan.removal(owner, files.look((), known, owner), known, _originals(known, env), force=force)


def missing_extra(name: str) -> str:
    """The extra of Pepys that the target *name* needs and that is not installed; empty for none."""
    from importlib.util import find_spec

    extra = TARGETS[name].extra
    return extra if extra and find_spec(extra) is None else ""


def standings(on: Machine) -> tuple[Standing, ...]:
    """How every target stands, in the order of the table.

    Raises:
        SetupRefused: What was written before is not known.
    """
    known = ledger.load(on.around.env)
    return tuple(_standing(name, on, known) for name in TARGETS)


def _standing(name: str, on: Machine, known: Ledger) -> Standing:
    found = any(os.path.lexists(path) for path in TARGETS[name].traces(on))
    kept = next(iter(known.of(Owner(name)).values()), None)
    if not found and kept is None:
        return Standing(name, found, "not installed")
    try:
        steps = setting_up(name, on)
    except (InvalidArgument, SetupRefused) as error:
        return Standing(name, found, "conflict", error, kept)
    if steps.conflicts:
        return Standing(name, found, "conflict", steps.conflicts[0], kept)
    if not steps.writes:
        return Standing(name, found, "installed", None, kept)
    return Standing(name, found, "outdated" if kept else "not installed", None, kept)


def _originals(known: Ledger, env: Mapping[str, str]) -> dict[str, bytes]:
    return ledger.originals({kept.before for kept in known.files.values() if kept.before}, env)
