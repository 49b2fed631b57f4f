"""An answer folder that exists is complete: it is made under another name and renamed at the end.

While a run lasts, everything it writes is in `NAME.partial-PID` next to the answer, and in
`cuesta-scratch.partial-PID` of a folder that was given for it. A run that fails, or is ended by
Ctrl-C or SIGTERM, removes these; one that is killed leaves them, under names that nobody takes for
an answer, and the next run to the same output or with the same scratch folder removes them. One
that cannot be known to have ended, or whose answer was kept, stays, and the next run whose process
has the same number takes another name.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import TracebackType

from cuesta.errors import CuestaError, InputError
from cuesta.lab.leftovers import (
    LOCK_NAME,
    hold,
    make_partial,
    partial_of,
    replaced_of,
    scratch_of,
    tags,
)

MARKS = ("run.json", "compare.json")
"""A folder that holds one of these is an answer, and may be replaced when asked to."""
_ANSWER, _SCRATCH, _STREAMS = "answer", "scratch", "streams"


class AnswerFolder:
    """Context manager: write into `answer`, then call `finish`.

    Attributes
    ----------
    answer
        Empty folder for what shall become the answer.
    scratch
        Empty folder for temporary files, in one that is the run's own, so that an engine may have
        another beside it.
    streams
        Where inputs that can be read only once are to be kept; nobody has made it yet.

    Scratch and streams are gone at the end in any case.
    """

    def __init__(self, output: Path, *, overwrite: bool, scratch: Path | None = None) -> None:
        self.output = output.resolve()
        self._overwrite = overwrite
        self._within = scratch.resolve() if scratch else None
        self._keep = False
        self._made: list[Path] = []
        self._held: list[int] = []
        self._name(str(os.getpid()))

    def _name(self, tag: str) -> None:
        """Call all folders after `tag`; without a folder for scratch, all is in the partial one."""
        self._partial = partial_of(self.output, tag)
        self._replaced = replaced_of(self.output, tag)
        self._room = scratch_of(self._within, tag) if self._within else self._partial
        self.answer = self._partial / _ANSWER
        self.scratch = self._room / _SCRATCH
        self.streams = self._room / _STREAMS

    def __enter__(self) -> AnswerFolder:
        check_output(self.output, overwrite=self._overwrite)
        try:
            self._make()
        except OSError as error:
            raise disk_error(error, str(self.output)) from error
        return self

    def _make(self) -> None:
        """Make all folders, by the first tag whose names are free.

        Errors: `InputError` where a living run has the first of them; `OSError`.
        """
        for tag in tags(os.getpid()):
            self._name(tag)
            if not make_partial(self._partial):
                continue
            self._made = [self._partial]
            try:
                if self._fill():
                    return
            except BaseException:
                self._remove()
                raise
            self._remove()
        raise InputError(
            f"{self._partial} and all names before it are of other runs; move them away, or give "
            "another --output"
        )

    def _fill(self) -> bool:
        """Make what is in the new temporary folder, and the one in that for scratch.

        False where another run has the name of one of them, which stays. Errors: `OSError`.
        """
        if self._replaced.exists():
            return False
        if self._room != self._partial:
            try:
                self._room.mkdir(parents=True)
            except FileExistsError:
                return False
            self._made.insert(0, self._room)
        for folder in self._made:
            self._held.append(hold(folder, self._room))
        self.answer.mkdir()
        self.scratch.mkdir()
        return True

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
            self.output.rename(self._replaced)
            try:
                self.answer.rename(self.output)
            except BaseException:
                if not self.output.exists():
                    self._replaced.rename(self.output)
                raise
            remove(self._replaced)
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
        """Remove everything but what is to be kept; the locks last, they say whose folders it is.

        Only in folders that were made here: others of these names are of other runs.
        """
        for folder in self._made:
            remove(folder / _SCRATCH)
            remove(folder / _STREAMS)
            if not self._keep:
                remove(folder / _ANSWER)
            (folder / LOCK_NAME).unlink(missing_ok=True)
            if folder != self._partial or not self._keep:
                remove(folder)
        while self._held:
            os.close(self._held.pop())
        self._made = []


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
