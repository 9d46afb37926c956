"""`python -m pepys` is `pepys`."""

from __future__ import annotations

import sys

from pepys.cli import main

if __name__ == "__main__":
    sys.exit(main())
