"""Answer folders, which are made under a temporary name and renamed once they are complete.

A running run writes only to `NAME.partial-PID` next to the answer, and to
`cuesta-scratch.partial-PID` in its folder for scratch. A run that fails, or is ended by Ctrl-C or
SIGTERM, removes these. A killed run leaves them, under names that are no answer's, and the next run
to the same output or with the same scratch folder removes them. A folder whose run may not have
ended, or whose answer was saved, remains, and the next run whose process has the same number uses
another name.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType

from cuesta import machine, outputs, removal
from cuesta.errors import CuestaError, InputError, disk_error
from cuesta.lab.leftovers import (
    LOCK_NAME,
    RUN_FOLDERS,
    hold,
    make_partial,
    make_private,
    partial_of,
    replaced_of,
    scratch_of,
    tags,
)
from cuesta.lab.ownership import forget, replaceable
from cuesta.removal import Identity
from cuesta.untrusted import check_name

MARKS = ("run.json", "compare.json", "programs.json")
"""Names of the records of answers."""
_ANSWER, _SCRATCH, _STREAMS = RUN_FOLDERS
_NAME_BYTES_MAX = 200
"""Longest name of an answer folder: names of temporary folders are longer, up to 255 bytes."""


class AnswerFolder:
    """Context manager: write into `answer`, then call `finish`.

    Attributes
    ----------
    answer
        Empty folder for the answer.
    scratch
        Empty folder for temporary files, in a folder of this run alone, so that an engine may have
        another folder next to it.
    streams
        Path of the folder for inputs that can be read only once; not made yet.

    Scratch and streams are always removed at the end.
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
        check_name(self.output)
        self._inputs = inputs
        self._old: dict[PurePosixPath, Identity] = {}
        self._overwrite = overwrite
        self._within = scratch.resolve() if scratch else None
        self._keep = False
        self._is_replacing = False
        self._made: list[Path] = []
        self._held: list[int] = []
        self._name(str(os.getpid()))

    def _name(self, tag: str) -> None:
        """Name all folders by `tag`; without a folder for scratch, all are in the partial one."""
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

        Errors: `InputError` if a living run has the first of them; `OSError`.
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
        """Make the subfolders of the temporary folder, and the run's folder for scratch.

        Return False if a folder of another run has one of these names. Errors: `OSError`.
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
        failed = disk_error(error, self._fuller_place()) if isinstance(error, OSError) else None
        if self._is_replacing and os.path.lexists(self.output):
            forget(self._replaced, self._old)
        self._remove()
        if failed:
            raise InputError(self._public(str(failed))) from error
        if isinstance(error, CuestaError):
            error.args = (self._public(str(error)), *error.args[1:])

    def _fuller_place(self) -> str:
        """The place of this run with the least free space, as the user gave it."""
        output = machine.free_bytes(self.output.parent)
        if self._within and machine.free_bytes(self._within) < output:
            return f"--scratch {self._within}"
        return str(self.output)

    def _public(self, text: str) -> str:
        """Replace the names of temporary files, which are removed, by places of the user."""
        if not self._keep:
            text = text.replace(str(self.answer), str(self.output))
        inner = re.escape(str(self._room)) + r"/[^\s,;:()]*"
        folder = f"temporary files in {self._within or self.output.parent}"
        if self._within is None or self._keep:
            inner = re.escape(str(self.scratch)) + r"[^\s,;:()]*"
        return re.sub(inner, lambda _: folder, text)

    def empty(self) -> None:
        """Empty `answer` and `scratch` of the files of an earlier run."""
        for place in (self.answer, self.scratch):
            if any(place.iterdir()):
                removal.remove_made(place)
                place.mkdir()

    def finish(self) -> list[str]:
        """Rename the answer to its final name, atomically.

        Its record is made durable here; its other files must be on the disk already. A replaced
        answer is removed by the names that its record lists. Return a sentence if any of its files
        remain.
        """
        for mark in MARKS:
            if (self.answer / mark).exists():
                synchronise(self.answer / mark)
        synchronise(self.answer)
        notes: list[str] = []
        try:
            if os.path.lexists(self.output):
                self._check_output_again()
                self._is_replacing = True
                self._replace()
                notes = forget(self._replaced, self._old)
                self._is_replacing = False
            else:
                self._publish()
        except OSError as error:
            where = f"this answer is in {self.keep()}"
            raise InputError(f"{disk_error(error, str(self.output))}; {where}") from None
        synchronise(self.output.parent)
        return notes

    def _publish(self) -> None:
        """Rename the answer. Errors: `InputError` if the name is in use; the answer remains."""
        try:
            removal.put_new(self.answer, self.output)
        except FileExistsError:
            self._check_output_again()
            raise

    def _replace(self) -> None:
        """Swap the answer with the old one, which then has the name of a replaced answer.

        The new answer gets the access rights of the old one.
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
        """Replace by two renames, without a swap: for a moment there is no answer."""
        removal.put_new(self._replaced, self.answer)
        removal.put_new(self.output, self._replaced)
        try:
            removal.put_new(self.answer, self.output)
        except BaseException:
            if not os.path.lexists(self.output):
                removal.put_new(self._replaced, self.output)
            raise

    def _check_output_again(self) -> None:
        """Check the output again. Errors: `InputError`; the answer remains."""
        try:
            self._old = check_output(self.output, overwrite=self._overwrite, known=self._old)
        except InputError as error:
            raise InputError(f"{error}; this answer is in {self.keep()}") from None

    def keep(self) -> Path:
        """Retain the written files under their temporary name, for inspection."""
        self._keep = True
        return self.answer

    def _remove(self) -> None:
        """Remove all folders but a retained answer; the locks last, since they name the owner.

        Only folders that were made here are removed: others of these names are of other runs. What
        cannot be removed retains its lock file, by which the next run removes it.
        """
        for folder in self._made:
            inner = [folder / name for name in RUN_FOLDERS if name != _ANSWER or not self._keep]
            for place in inner:
                removal.discard(place)
            if not self._keep and any(map(os.path.lexists, inner)):
                continue
            if folder == self._partial and self._is_replacing and self._replaced.exists():
                continue
            (folder / LOCK_NAME).unlink(missing_ok=True)
            if folder != self._partial or not self._keep:
                removal.discard(folder)
        while self._held:
            os.close(self._held.pop())
        self._made = []


def check_output(
    output: Path,
    *,
    overwrite: bool,
    inputs: Iterable[str] = (),
    known: Mapping[PurePosixPath, Identity] | None = None,
) -> dict[PurePosixPath, Identity]:
    """Return the content of the answer at `output` that an answer of `inputs` would replace.

    Arguments: content as in `known` is not hashed anew. Errors: `InputError`, with a remedy, if no
    answer may be written there.
    """
    outputs.check_local(output)
    if len(os.fsencode(output.name)) > _NAME_BYTES_MAX:
        raise InputError(
            f"-o {output.name[:40]}...: the name is longer than {_NAME_BYTES_MAX} bytes; give a "
            "shorter one"
        )
    if os.path.lexists(output) and not overwrite:
        try:
            _replaceable(output, inputs, known)
        except InputError:
            raise InputError(f"{output} exists already; give another --output") from None
        raise InputError(f"{output} exists already; give another --output, or --overwrite")
    return _replaceable(output, inputs, known)


def _replaceable(
    output: Path, inputs: Iterable[str], known: Mapping[PurePosixPath, Identity] | None
) -> dict[PurePosixPath, Identity]:
    """Return the content that an answer would replace. Errors: `InputError` if it must not."""
    outputs.check_apart(output, inputs)
    if not os.path.lexists(output):
        return {}
    outputs.check_replaceable(output)
    return replaceable(output, known)


def synchronise(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems do not synchronise folders; errors of a full or broken disk are raised.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
