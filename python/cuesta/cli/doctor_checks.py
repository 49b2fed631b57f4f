"""Checks of a machine: what each one found."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
ABSENT = "absent"
BROKEN = "broken"


@dataclass(frozen=True, kw_only=True)
class Check:
    """An item that a machine has or lacks.

    `state` is `ok`, `absent` (something optional is not there) or `broken` (Cuesta can't work);
    `found` describes the present item, `place` is where it is, `remedy` is a sentence on how to
    get a missing one.
    """

    name: str
    state: str
    found: str
    remedy: str = ""
    place: str = ""
