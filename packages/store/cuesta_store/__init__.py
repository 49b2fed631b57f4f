"""The two-level store: a tier of memory in front of a parallel file system.

Uses nothing of the packages `cuesta` and `cuesta_lab`: both are above it.

Safe to change: clients. What breaks: a client that does not check whose store answers
(`crates/store/src/client`) reads data of another account.
"""

from __future__ import annotations

__version__ = "0.2.0"
