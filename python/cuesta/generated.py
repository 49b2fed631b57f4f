"""Files that Cuesta writes next to answers, such as pages, and their recognition.

Each holds the mark `cuesta KIND sha256:DIGEST`. The digest is that of the file with zeros in its
place, so a file that a person has edited is not Cuesta's any more, and is never replaced.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from cuesta import removal
from cuesta.errors import InputError

BYTES_MAX = 256 << 20
"""Larger files are not looked at."""
_BEGIN_BYTES = 4096
"""Number of first bytes that contain the mark."""
_ZEROS = "0" * 64
_MARK = re.compile(
    rb'(?:<meta name="generator" content="|"generator": ")cuesta [a-z]+ sha256:([0-9a-f]{64})"'
)
_OLD_MARK = re.compile(
    rb'<meta name="generator" content="cuesta report">'
    rb'|\A\{\s*"schema": "cuesta\.(?:assessment|model)/1",(?!\s*"generator")'
)
"""Versions before 28 November 2026 wrote no digest."""


def mark(kind: str) -> str:
    """Return the mark to write into the first lines of a file of this kind."""
    return f"cuesta {kind} sha256:{_ZEROS}"


def sealed(text: str) -> bytes:
    """Return the content of a file with the digest in its mark.

    Only the first mark counts; a text without one stays as it is.
    """
    content = text.encode()
    match = _MARK.search(content, 0, _BEGIN_BYTES)
    if match is None:
        return content
    digest = hashlib.sha256(content).hexdigest().encode()
    return content[: match.start(1)] + digest + content[match.end(1) :]


def is_generated(path: Path) -> bool:
    """Whether Cuesta wrote the file `path` and no one has changed it; false for links."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > BYTES_MAX:
            return False
        content = os.pread(descriptor, facts.st_size, 0)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    match = _MARK.search(content, 0, _BEGIN_BYTES)
    if match is None:
        return _OLD_MARK.search(content, 0, _BEGIN_BYTES) is not None
    blank = content[: match.start(1)] + _ZEROS.encode() + content[match.end(1) :]
    return hashlib.sha256(blank).hexdigest().encode() == match[1]


def check(output: Path) -> None:
    """Refuse a file that is there and is not Cuesta's. Errors: `InputError`."""
    if os.path.lexists(output) and not is_generated(output):
        raise InputError(
            f"{output} is not a file that Cuesta wrote, or was changed since; move it away, or "
            "give another -o"
        )


def put(text: str, output: Path) -> None:
    """Write a file with a mark, in one step or not at all; it replaces only one of Cuesta's.

    Errors: `InputError` where `output` is a file of another's; `OSError`.
    """
    check(output)
    partial = output.with_name(f"{output.name[:100]}.partial-{os.getpid()}")
    output.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(sealed(text))
        check(output)
        removal.put(partial, output)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
