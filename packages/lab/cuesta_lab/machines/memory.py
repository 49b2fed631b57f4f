"""Huge pages, and swap in compressed memory; both affect the complete machine."""

from __future__ import annotations

import re
from pathlib import Path

from cuesta.errors import InputError, in_words
from cuesta_lab.machines.journal import Journal, Step
from cuesta_lab.machines.system import find_command, output_of, succeeds, write

HUGE_PAGES = "huge-pages"
ZRAM = "zram"
_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_CONTROL = Path("/sys/class/zram-control")


def refusal_of_pages() -> str | None:
    """Reason why huge pages cannot be chosen here, or None."""
    if _PAGES.is_file():
        return None
    return f"machine factor huge-pages needs a kernel that has them: {_PAGES} is not there"


def refusal_of_zram() -> str | None:
    """Reason why compressed memory is impossible here, or None."""
    if not _CONTROL.is_dir():
        return "machine factor zram needs the kernel's module zram: modprobe zram"
    for command in ("mkswap", "swapon", "swapoff"):
        if not find_command(command):
            return f"machine factor zram needs the command {command}: apt-get install mount"
    return None


def choose_pages(journal: Journal, word: str) -> None:
    """Set the policy of huge pages. Errors: `InputError`, also while another process has set it."""
    holders = journal.holders(HUGE_PAGES)
    if holders:
        raise InputError(f"machine factor huge-pages: process {holders[0]} has chosen; wait for it")
    before = re.search(r"\[(\w+)\]", _PAGES.read_text())
    journal.note(HUGE_PAGES, before=before[1] if before else "madvise")
    write("huge-pages", _PAGES, word)


def undo_pages(step: Step) -> None:
    """Restore the policy of huge pages."""
    _PAGES.write_text(step["before"])


def add_zram(journal: Journal, size_bytes: int) -> None:
    """Add a swap device in compressed memory, used before any other. Errors: `InputError`."""
    try:
        number = (_CONTROL / "hot_add").read_text().strip()
    except OSError as error:
        raise InputError(f"machine factor zram: no device: {in_words(error)}") from None
    journal.note(ZRAM, number=number)
    write("zram", Path(f"/sys/block/zram{number}/disksize"), str(size_bytes))
    output_of("zram", ["mkswap", f"/dev/zram{number}"])
    output_of("zram", ["swapon", "-p", "100", f"/dev/zram{number}"])


def undo_zram(step: Step) -> None:
    """Swap all pages back in, and remove the device."""
    number = step["number"]
    folder = Path(f"/sys/block/zram{number}")
    if not folder.is_dir():
        return
    device = f"/dev/zram{number}"
    if device in Path("/proc/swaps").read_text().split() and not succeeds(["swapoff", device]):
        output_of("zram", ["swapoff", device])
    (folder / "reset").write_text("1")
    (_CONTROL / "hot_remove").write_text(number)
