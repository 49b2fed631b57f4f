"""`python -m cuesta` is the command `cuesta`."""

from __future__ import annotations

from cuesta.cli import main

if __name__ == "__main__":
    main()
