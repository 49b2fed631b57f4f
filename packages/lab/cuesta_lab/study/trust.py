"""Check of a study file from elsewhere: settings that run code or reach hosts need permission.

Settings of sizes, numbers and choices are used. Commands are refused unless the user allows them,
or the study comes with Cuesta. Other options of engines, URIs, and folders to write to are refused
unless the user allows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cuesta.data.make import REFERENCE
from cuesta.errors import InputError
from cuesta.safe_options import unsafe
from cuesta.trial import is_remote
from cuesta.untrusted import single_line
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.commands import COMMAND
from cuesta_lab.study.model import Study
from cuesta_lab.study.settings import TIER, Settings
from cuesta_lab.study.trials import StudyEnvironment

OPTION = "--allow-options"
COMMANDS_OPTION = "--allow-commands"
COMMANDS_SHOWN_MAX = 50
_WRITES = ("resume",)
"""Parameters with a folder in which files are made or replaced."""


def require(study: Study, combined: Sequence[Combination], environment: StudyEnvironment) -> None:
    """Refuse a study with settings for which the user has not given permission.

    Errors: `InputError` that names them and the option.
    """
    texts = [] if study.is_bundled or environment.allows_commands else commands(study, combined)
    if texts:
        more = len(texts) - COMMANDS_SHOWN_MAX
        named = "; ".join(texts[:COMMANDS_SHOWN_MAX]) + (f"; and {more} more" if more > 0 else "")
        raise InputError(
            f"study {study.name}: it runs commands, which can do all that you can: {named}; where "
            f"you trust whoever wrote them, add {COMMANDS_OPTION}"
        )
    if not environment.allows_options:
        check(study, combined)


def commands(study: Study, combined: Iterable[Combination]) -> list[str]:
    """All commands of a study, each once, with its levels in place of factors."""
    texts = [source.source for source in study.inputs if source.kind == COMMAND]
    for combination in combined:
        if combination.settings.command:
            texts += combination.settings.command.shown()
    return [single_line(text) for text in dict.fromkeys(texts)]


def check(study: Study, combined: Iterable[Combination]) -> None:
    """Raise `InputError` with the settings of a study that need the user's permission."""
    settings = [
        *_inputs(study),
        *(words for combination in combined for words in _settings(combination.settings)),
    ]
    if settings:
        named = ", ".join(dict.fromkeys(settings))
        raise InputError(
            f"study {study.name}: it sets {named}, which can run code of whoever wrote it, send "
            f"data to a host or write files; where you trust it, add {OPTION}"
        )


def _inputs(study: Study) -> Iterator[str]:
    for source in study.inputs:
        if source.kind == "uri":
            yield f"the input {source.source}"
        options = dict(source.options)
        if REFERENCE in options:
            yield f"the file {REFERENCE}={options[REFERENCE]} of input {source.name}"


def _settings(values: Settings) -> Iterator[str]:
    for name in unsafe(values.engine_options):
        yield f"the option {name}={values.engine_options[name]} of {values.engine}"
    if values.scratch not in (None, TIER):
        yield f"the folder scratch={values.scratch}"
    for name, value in values.parameters.items():
        if name in _WRITES or (isinstance(value, str) and is_remote(value)):
            yield f"the parameter {name}={value}"
