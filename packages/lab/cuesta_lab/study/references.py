"""Answers with which a study compares those of its commands, one for each question.

The answers of a question must be equal. Its reference is the answer that the study file expects,
or else the first one that could be read, which is saved in the folder of the study.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta import removal
from cuesta.errors import InputError
from cuesta.programs import judging
from cuesta.programs.answers.tables import Form
from cuesta.untrusted import read_json, read_text
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.commands import CommandSettings

FOLDER = "answers"
"""Folder of the references, in the folder of a study."""
SCHEMA = "cuesta.study-answer/1"
FACTS = "reference.json"
_SCRATCH = ".scratch-"


@dataclass(frozen=True, kw_only=True)
class KnownReference:
    """A reference, its identifier, and the combination whose answer it is, if it is of one."""

    reference: judging.Reference
    identifier: str
    by: str = ""


class References:
    """References of a study's questions."""

    def __init__(self, output: Path) -> None:
        self._folder = output.absolute() / FOLDER
        self._output = output.absolute()
        self._expected: dict[str, KnownReference] = {}

    def question(self, combination: Combination, made_from: list[str]) -> str:
        """Identifier of the question of a combination with inputs that are made from these."""
        return _digest(json.dumps([combination.answers, made_from], default=str))

    def current(self, combination: Combination, question: str) -> KnownReference | None:
        """Return the reference of a question, if there is one. Errors: `InputError`."""
        command = combination.settings.command
        if command and command.expected:
            return self._of_expected(command, command.expected)
        facts = self._facts(question)
        if facts is None:
            return None
        answer = self._folder / question / "answer"
        return KnownReference(
            reference=judging.Reference(answer=answer, digest=facts["digest"]),
            identifier=facts["identifier"],
            by=facts["by"],
        )

    def store(self, combination: Combination, question: str, reference: judging.Reference) -> None:
        """Save the answer of a combination as the reference of its question."""
        settings = self._settings(combination.name)
        facts = {
            "schema": SCHEMA,
            "identifier": _digest(f"{settings} {reference.digest} {os.urandom(8).hex()}"),
            "digest": reference.digest,
            "by": combination.name,
            "settings": _digest(settings),
        }
        folder = self._folder / question
        self._drop(folder)
        with removal.held_folder(_SCRATCH, self._output) as partial:
            made = partial / "reference"
            made.mkdir()
            removal.put_new(reference.answer, made / "answer")
            (made / FACTS).write_text(json.dumps(facts), encoding="utf-8")
            self._folder.mkdir(exist_ok=True)
            removal.put_new(made, folder)

    def _of_expected(self, command: CommandSettings, expected: str) -> KnownReference:
        if expected not in self._expected:
            with removal.held_folder(_SCRATCH, self._output) as scratch:
                form = Form(kind=command.kind, header=command.header)
                reference = judging.expected(Path(expected), form, command.rules, scratch)
            status = Path(expected).stat()
            identifier = _digest(f"{expected} {status.st_size} {status.st_mtime_ns}")
            self._expected[expected] = KnownReference(reference=reference, identifier=identifier)
        return self._expected[expected]

    def _facts(self, question: str) -> dict[str, Any] | None:
        """Facts of a saved reference; None if its command has changed since."""
        try:
            facts = read_json(self._folder / question / FACTS)
        except (OSError, ValueError):
            return None
        is_known = isinstance(facts, dict) and facts.get("schema") == SCHEMA
        if is_known and facts.get("settings") == _digest(self._settings(str(facts.get("by")))):
            return dict(facts)
        return None

    def _settings(self, name: str) -> str:
        """Content of the file with the settings of a combination's runs."""
        try:
            return read_text(self._output / "runs" / name / "settings.json")
        except OSError:
            return ""

    def _drop(self, folder: Path) -> None:
        """Remove a reference whose command has changed. Errors: `InputError` for other content."""
        if not os.path.lexists(folder):
            return
        if not (folder / FACTS).is_file():
            raise InputError(f"{folder} is not an answer of this study; move it away")
        removal.remove_made(folder, last=FACTS)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
