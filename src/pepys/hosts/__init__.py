"""The hosts whose session files Pepys reads. A host is a module that satisfies `base.Host` and one row here."""

from __future__ import annotations

from collections.abc import Mapping

from pepys.hosts import omp, pi
from pepys.hosts.base import Host

HOSTS: Mapping[str, Host] = {"pi": pi, "omp": omp}
