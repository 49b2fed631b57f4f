"""Rules for folders of a store: quotas of memory, and pinning of blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cuesta_store.errors import InputError
from cuesta_store.units import parse_size

USES = ("pin", "normal", "bypass")


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRule:
    """A rule for the files below a folder: a quota of bytes, and the use of memory for blocks.

    `use` is pin (blocks are loaded as they are read, and are not evicted), normal, or bypass
    (blocks are loaded only when a user loads or pins them); the rule of the longest folder applies.
    """

    folder: str
    quota_bytes: int | None = None
    use: str | None = None


def folder_rules(quotas: Iterable[str], uses: Iterable[str]) -> tuple[FolderRule, ...]:
    """Parse rules such as `/folder=2GiB` and `/folder=pin`.

    Errors: `InputError` naming the option and its format.
    """
    rules = []
    for text in quotas:
        folder, size = _parts(text, "--quota", "/folder=2GiB")
        rules.append(FolderRule(folder=folder, quota_bytes=parse_size(size, "--quota")))
    for text in uses:
        folder, use = _parts(text, "--rule", "/folder=pin")
        if use not in USES:
            raise InputError(f"--rule {folder} is {use!r}, give {', '.join(USES)}")
        rules.append(FolderRule(folder=folder, use=use))
    return tuple(rules)


def _parts(text: str, option: str, example: str) -> tuple[str, str]:
    folder, _, value = text.rpartition("=")
    if not folder or not value:
        raise InputError(f"{option} is {text!r}, give a folder and a value: {example}")
    return folder, value
