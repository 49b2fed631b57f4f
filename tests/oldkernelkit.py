"""Run a command as on Linux 4.18: system calls that are newer answer that there is none.

    python tests/oldkernelkit.py COMMAND...

A filter (seccomp) of this process and its descendants does so. Since 5.0 a new call has one number
on all processors, from 424 on; 4.18 has none of those.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Sequence

FIRST_NEWER_CALL = 424
OPENAT2 = 437

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
"""PR_SET_NO_NEW_PRIVS and PR_SET_SECCOMP of <linux/prctl.h>, SECCOMP_MODE_FILTER."""
_LOAD_NUMBER = (0x20, 0, 0, 0)
_IF_NEWER = (0x35, 0, 1, FIRST_NEWER_CALL)
_REFUSE = (0x06, 0, 0, 0x00050000 | errno.ENOSYS)
_ALLOW = (0x06, 0, 0, 0x7FFF0000)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("first", ctypes.POINTER(_Instruction)))


def main(command: Sequence[str]) -> None:
    """Become the command, without newer system calls."""
    refuse_newer_calls()
    os.execvp(command[0], list(command))


def refuse_newer_calls() -> None:
    """Put the filter on this process. Errors: `OSError`."""
    rules = (_LOAD_NUMBER, _IF_NEWER, _REFUSE, _ALLOW)
    instructions = (_Instruction * len(rules))(*(_Instruction(*rule) for rule in rules))
    program = _Program(len(rules), instructions)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for words in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, ctypes.byref(program))):
        if prctl(*words):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    main(sys.argv[1:])
