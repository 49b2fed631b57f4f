"""An answer folder that exists is complete: it is made under another name and renamed at the end.

While a run lasts, everything it writes is in `NAME.partial-PID` next to the answer. A run that
fails, or is ended by Ctrl-C or SIGTERM, removes that folder; one that is killed leaves it, under a
name that nobody takes for an answer, and the next run to the same output removes it.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import TracebackType

from cuesta.errors import CuestaError, InputError
from cuesta.lab.leftovers import LOCK_NAME, SCRATCH_NAME, hold, partial_of, replaced_of

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
        self._partial = partial_of(self.output, os.getpid())
        self._keep = False
        self._held: int | None = None
        self.answer = self._partial / "answer"
        within = scratch.resolve() if scratch else self._partial
        self.scratch = within / f"{SCRATCH_NAME}{os.getpid()}"

    def __enter__(self) -> AnswerFolder:
        check_output(self.output, overwrite=self._overwrite)
        if self._partial.exists():
            # Of a process of the same number on another machine, or kept for somebody to look at.
            raise InputError(
                f"{self._partial} is of another run; move it away, or give another --output"
            )
        try:
            self._partial.mkdir(parents=True)
        except OSError as error:
            raise disk_error(error, str(self.output)) from error
        try:
            self.answer.mkdir()
            self._held = hold(self._partial, self.scratch)
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
        self._remove()
        if isinstance(error, OSError):
            raise disk_error(error, str(self.output)) from error

    def empty(self) -> None:
        """Remove what an earlier run left in `answer` and `scratch`."""
        for place in (self.answer, self.scratch):
            if any(place.iterdir()):
                remove(place)
                place.mkdir()

    def finish(self) -> None:
        """Give the answer its name, in one step for anyone who looks.

        Its record is made durable here; its other files must be on the disk already.
        """
        for mark in MARKS:
            if (self.answer / mark).exists():
                synchronise(self.answer / mark)
        synchronise(self.answer)
        if self.output.exists():
            self._check_output_again()
            replaced = replaced_of(self.output, os.getpid())
            self.output.rename(replaced)
            try:
                self.answer.rename(self.output)
            except BaseException:
                if not self.output.exists():
                    replaced.rename(self.output)
                raise
            remove(replaced)
        else:
            self.answer.rename(self.output)
        synchronise(self.output.parent)

    def _check_output_again(self) -> None:
        """Somebody may have made it meanwhile. Errors: `InputError`, and the answer stays."""
        try:
            check_output(self.output, overwrite=self._overwrite)
        except InputError as error:
            raise InputError(f"{error}; this answer is in {self.keep()}") from None

    def keep(self) -> Path:
        """Leave what was written under its temporary name, for a person to look at."""
        self._keep = True
        return self.answer

    def _remove(self) -> None:
        """Remove everything but what is to be kept; the lock last, it says whose folder it is."""
        remove(self.scratch)
        if not self._keep:
            remove(self.answer)
        if self._held is not None:
            (self._partial / LOCK_NAME).unlink(missing_ok=True)
            os.close(self._held)
            self._held = None
        if not self._keep:
            remove(self._partial)


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that is possible."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


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


def synchronise(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems do not synchronise folders; a full or broken disk must be heard.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
