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
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType

from cuesta import outputs, removal
from cuesta.errors import CuestaError, InputError
from cuesta.lab import ownership
from cuesta.lab.leftovers import (
    LOCK_NAME,
    hold,
    make_partial,
    make_private,
    partial_of,
    replaced_of,
    scratch_of,
    tags,
)
from cuesta.removal import Identity

MARKS = ("run.json", "compare.json")
"""Records of answers."""
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

    def __init__(
        self,
        output: Path,
        *,
        overwrite: bool,
        scratch: Path | None = None,
        inputs: Sequence[str] = (),
    ) -> None:
        outputs.check_local(output)
        self.output = output.resolve()
        outputs.check_name(self.output)
        self._inputs = inputs
        self._old: dict[PurePosixPath, Identity] = {}
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
        self._old = check_output(self.output, overwrite=self._overwrite, inputs=self._inputs)
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
                make_private(self._room)
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
                removal.remove_made(place)
                place.mkdir()

    def finish(self) -> list[str]:
        """Give the answer its name, in one step for anyone who looks.

        Its record is made durable here; its other files must be on the disk already. An answer
        that is replaced is removed by the names that its record lists. Returns a sentence where
        something of it remains.
        """
        for mark in MARKS:
            if (self.answer / mark).exists():
                synchronise(self.answer / mark)
        synchronise(self.answer)
        notes: list[str] = []
        try:
            if os.path.lexists(self.output):
                self._check_output_again()
                self._replace()
                notes = forget(self._replaced, self._old)
            else:
                self._publish()
        except OSError as error:
            where = f"this answer is in {self.keep()}"
            raise InputError(f"{disk_error(error, str(self.output))}; {where}") from None
        synchronise(self.output.parent)
        return notes

    def _publish(self) -> None:
        """Errors: `InputError` where the name is in use by now, and the answer stays."""
        try:
            removal.put_new(self.answer, self.output)
        except FileExistsError:
            self._check_output_again()
            raise

    def _replace(self) -> None:
        """Swap the answer with the old one, which has the name of a replaced one then.

        Whoever could not enter the old one cannot enter the new one.
        """
        self.answer.chmod(stat.S_IMODE(self.output.stat().st_mode))
        removal.put_new(self.answer, self._replaced)
        try:
            if not removal.exchange(self._replaced, self.output):
                self._replace_in_two_steps()
        except BaseException:
            if not os.path.lexists(self.answer) and os.path.lexists(self._replaced):
                removal.put_new(self._replaced, self.answer)
            raise

    def _replace_in_two_steps(self) -> None:
        """Two renames, for file systems that cannot swap: for a moment there is no answer."""
        removal.put_new(self._replaced, self.answer)
        removal.put_new(self.output, self._replaced)
        try:
            removal.put_new(self.answer, self.output)
        except BaseException:
            if not os.path.lexists(self.output):
                removal.put_new(self._replaced, self.output)
            raise

    def _check_output_again(self) -> None:
        """Look at the output as it is now. Errors: `InputError`, and the answer stays."""
        try:
            self._old = check_output(self.output, overwrite=self._overwrite, known=self._old)
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
            removal.discard(folder / _SCRATCH)
            removal.discard(folder / _STREAMS)
            if not self._keep:
                removal.discard(folder / _ANSWER)
            (folder / LOCK_NAME).unlink(missing_ok=True)
            if folder != self._partial or not self._keep:
                removal.discard(folder)
        while self._held:
            os.close(self._held.pop())
        self._made = []


def forget(old: Path, content: Mapping[PurePosixPath, Identity]) -> list[str]:
    """Remove an answer by the names of its content; a sentence where something remains."""
    try:
        remaining = removal.remove_listed(old, content)
    except OSError as error:
        return [f"{old} remains: {error.filename}: {(error.strerror or str(error)).lower()}"]
    if not remaining:
        return []
    return [f"{old} remains: {_first(map(str, remaining))} is not of the answer that was replaced"]


def check_output(
    output: Path,
    *,
    overwrite: bool,
    inputs: Iterable[str] = (),
    known: Mapping[PurePosixPath, Identity] | None = None,
) -> dict[PurePosixPath, Identity]:
    """Return the content of the answer that one of `inputs` at `output` would replace.

    Arguments: content as in `known` is not hashed anew. Errors: `InputError` with what to do where
    no answer may be written there.
    """
    outputs.check_local(output)
    if os.path.lexists(output) and not overwrite:
        raise InputError(f"{output} exists already; give another --output, or --overwrite")
    outputs.check_apart(output, inputs)
    if not os.path.lexists(output):
        return {}
    outputs.check_replaceable(output)
    return replaceable(output, known)


def replaceable(
    output: Path, known: Mapping[PurePosixPath, Identity] | None = None
) -> dict[PurePosixPath, Identity]:
    """Return the content of an answer folder of which all is Cuesta's, or of an empty folder.

    Errors: `InputError` naming what is not Cuesta's.
    """
    refusal = f"{output} is not an answer folder, so --overwrite will not replace it"
    if not output.is_dir():
        raise InputError(refusal)
    try:
        if not any(output.iterdir()):
            return {}
        content = ownership.holdings(output, known)
    except OSError as error:
        raise disk_error(error, str(output)) from None
    if content is None:
        raise InputError(refusal)
    if content.foreign:
        raise InputError(
            f"{output}: {_first(content.foreign)}, so --overwrite will not replace it; move it away"
        )
    return content.owned


def _first(names: Iterable[str]) -> str:
    """The first name, printable, and how many more there are."""
    first, *more = names
    text = first if first.isprintable() else first.encode("unicode_escape").decode()
    return f"{text} (and {len(more)} more)" if more else text


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
