"""The other stores of a job: their addresses, and the secret that they share."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta_store.errors import InputError
from cuesta_store.private import write_private

_SECRET = re.compile(r"[0-9a-f]{64}")
_SECRET_BYTES_MAX = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSettings:
    """Settings by which a store finds the other stores of its job.

    Attributes
    ----------
    listen
        The address of this store for the others, with a port, or 0 for a free one.
    members
        The addresses of all stores.
    members_file
        A file of addresses, one in a line, that is read again when it has changed.
    secret
        The file of the secret of the job, private to its user, as `make_secret` makes it.
    """

    listen: str
    secret: Path
    members: tuple[str, ...] = ()
    members_file: Path | None = None


def peer_settings(
    listen: str | None, peers: str | None, secret: Path | None
) -> PeerSettings | None:
    """Parse the options `--listen`, `--peers` and `--secret`; return None where all are missing.

    Errors: `InputError` where an option is missing, or the file of the secret is.
    """
    if listen is None and peers is None and secret is None:
        return None
    if listen is None or peers is None or secret is None:
        raise InputError("--listen, --peers and --secret: give all three, or none")
    _check_secret(secret)
    host, colon, port = listen.rpartition(":")
    address = listen if colon and port.isdigit() and host else f"{listen}:0"
    named = [name.strip() for name in peers.split(",") if name.strip()]
    file = Path(peers)
    if file.is_file():
        return PeerSettings(listen=address, secret=secret.absolute(), members_file=file.absolute())
    _check_members(named)
    return PeerSettings(listen=address, secret=secret.absolute(), members=tuple(named))


def _check_secret(secret: Path) -> None:
    try:
        with secret.open("rb"):
            return
    except PermissionError:
        raise InputError(
            f"--secret {secret}: your account may not read it; the account whose stores run with "
            "it can give you a copy, for you alone (chmod 600)"
        ) from None
    except OSError:
        raise InputError(
            f"--secret {secret}: is not there; make it with `cuesta store secret`"
        ) from None


def _check_members(names: Sequence[str]) -> None:
    for name in names:
        host, _, port = name.rpartition(":")
        if not host or not port.isdigit():
            raise InputError(
                f"--peers: {name!r} is no HOST:PORT, and no file; give HOST:PORT,HOST:PORT,... or "
                "a file with one a line"
            )


def write_members(path: Path, names: Sequence[str]) -> None:
    """Replace a file of members atomically."""
    write_private(path, "".join(f"{name}\n" for name in names))


def make_secret(path: Path) -> None:
    """Make the secret of the stores of a job, or a new one in addition to the previous one.

    Stores read the file again within a second. Do not replace it again before all of them have:
    they accept the current and the previous secret. Errors: `InputError` for a file of anything
    else, which stays as it is.
    """
    previous: list[str] = []
    if os.path.lexists(path):
        previous = _secrets(path)[:1]
    write_private(path, "\n".join([secrets.token_hex(32), *previous]) + "\n")


def _secrets(path: Path) -> list[str]:
    """The words of a file that holds one or two secrets and nothing else."""
    try:
        facts = path.lstat()
        is_file = stat.S_ISREG(facts.st_mode) and facts.st_size <= _SECRET_BYTES_MAX
        lines = path.read_text("ascii").splitlines() if is_file else []
    except (OSError, ValueError):
        lines = []
    if not 1 <= len(lines) <= 2 or not all(_SECRET.fullmatch(line) for line in lines):
        raise InputError(f"store secret: {path} exists and is no secret of stores; give a new name")
    return lines
