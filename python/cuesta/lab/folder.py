"""An answer folder that exists is complete: it is made under another name and renamed at the end.

While a run lasts, everything it writes is in `NAME.partial-PID` next to the answer. A run that
fails, or is ended by Ctrl-C or SIGTERM, removes that folder; one that is killed leaves it, under a
name that nobody takes for an answer.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from types import TracebackType

from cuesta.errors import CuestaError, InputError

MARKS = ("run.json", "compare.json")
"""A folder that holds one of these is an answer, and may be replaced when asked to."""


class AnswerFolder:
    """Context manager: write into `answer`, then call `finish`.

    Attributes
    ----------
    answer
        Empty folder for what shall become the answer.
    scratch
        Empty folder for temporary files; gone at the end in any case.
    """

    def __init__(self, output: Path, *, overwrite: bool, scratch: Path | None = None) -> None:
        self.output = output.resolve()
        self._overwrite = overwrite
        self._partial = self.output.with_name(f"{self.output.name}.partial-{os.getpid()}")
        self._keep = False
        self.answer = self._partial / "answer"
        place = scratch or self._partial
        self.scratch = place / f"cuesta-scratch.partial-{os.getpid()}"

    def __enter__(self) -> AnswerFolder:
        check_output(self.output, overwrite=self._overwrite)
        try:
            self.answer.mkdir(parents=True)
            self.scratch.mkdir(parents=True)
        except BaseException as error:
            self._remove()
            if isinstance(error, OSError):
                raise disk_error(error, str(self.output)) from error
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._keep:
            shutil.rmtree(self.scratch, ignore_errors=True)
        else:
            self._remove()
        if isinstance(error, OSError):
            raise disk_error(error, str(self.output)) from error

    def finish(self) -> None:
        """Make the answer durable, then give it its name, in one step for anyone who looks."""
        _synchronise(self.answer)
        if self.output.exists():
            replaced = self.output.with_name(f"{self.output.name}.replaced-{os.getpid()}")
            self.output.rename(replaced)
            self.answer.rename(self.output)
            shutil.rmtree(replaced, ignore_errors=True)
        else:
            self.answer.rename(self.output)
        _synchronise_one(self.output.parent)

    def keep(self) -> Path:
        """Leave what was written under its temporary name, for a person to look at."""
        self._keep = True
        return self.answer

    def _remove(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)
        shutil.rmtree(self._partial, ignore_errors=True)


def check_output(output: Path, *, overwrite: bool) -> None:
    """Whether an answer may be written to `output`. Errors: `InputError` with what to do."""
    if not output.exists():
        return
    if not overwrite:
        raise InputError(f"{output} exists already; give another --output, or --overwrite")
    is_answer = any((output / mark).is_file() for mark in MARKS)
    if not output.is_dir() or not (is_answer or not any(output.iterdir())):
        raise InputError(f"{output} is not an answer folder, so --overwrite will not replace it")


def disk_error(error: OSError, place: str) -> CuestaError:
    """An operating system's error as one line for the user."""
    where = error.filename or place
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"{where}: the disk is full; free some space or choose another folder")
    return InputError(f"{where}: {(error.strerror or str(error)).lower()}")


def _synchronise(root: Path) -> None:
    """Every file and folder under `root`, files first."""
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            _synchronise_one(Path(folder, name))
        _synchronise_one(Path(folder))


def _synchronise_one(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems do not synchronise folders; a full or broken disk must be heard.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
