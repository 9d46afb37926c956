"""What a person types after a slash, in a host: `/recall`, `/memory`, `/pepys`."""

from __future__ import annotations

from pepys.rpc.client import Asking
from pepys.rpc.events import Calling
from pepys.rpc.protocol import Command, Effects


def effects(command: Command, calling: Calling, asking: Asking) -> Effects:
    """What the host is to do."""
    return Effects()
