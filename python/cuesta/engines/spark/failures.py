"""Converts errors of Spark into one line for the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cuesta.engines import site
from cuesta.errors import DEFECT, CuestaError, Defect, EngineError, InputError, is_defect

_OPEN, _CLOSE = "<cuesta-refuses>", "</cuesta-refuses>"
_MARKED = re.compile(f"{_OPEN}(.*?){_CLOSE}", re.DOTALL)
LINE_CHARACTERS_MAX = 300


def marked(message: str) -> str:
    """Mark a message for the user, so that it can be found in any stack trace."""
    return f"{_OPEN}{message}{_CLOSE}"


@contextmanager
def refusing() -> Iterator[None]:
    """Mark the text of an `InputError` or a `Defect` in a task, for the driver."""
    try:
        yield
    except (InputError, Defect) as error:
        raise RuntimeError(marked(str(error))) from None
    except BaseException as error:
        if not is_defect(error):
            raise
        raise RuntimeError(marked(str(Defect.of(error)))) from None


def to_cuesta_error(
    error: Exception, shared: bool, keep_log: Callable[[], Path | None]
) -> CuestaError:
    """Convert the error of a job into an error for the user.

    Arguments: `shared` is whether executors are other processes, which open paths themselves;
    `keep_log` is called when Spark itself failed.
    """
    refusal = _MARKED.search(_text(error))
    if refusal:
        message = refusal[1]
        if message.startswith(DEFECT):
            return Defect(message)
        if shared and "No such file" in message:
            message += "; every executor opens it, so it must be in a folder that all of them share"
        return InputError(message)
    return engine_error(error, "Spark failed", keep_log())


def engine_error(error: Exception, what: str, log: Path | None) -> EngineError:
    """Describe an error in one line: its known cause, or else `what` and Spark's text; the log."""
    text = _text(error)
    known = (message for sign, message in _SIGNS.items() if sign in text)
    unknown = JVM_DIED if is_cut_off(error) else f"{what}: {first_words(error)}"
    description = next(known, None) or unknown
    remedy = site.remark(site.SPARK)
    if log:
        remedy += f"; its log is {log}"
    return EngineError(f"engine spark: {description}{remedy or _DOCTOR}")


def is_interrupted(error: BaseException) -> bool:
    """Whether an error replaced that of Ctrl-C, which PySpark's own cleaning up may do."""
    before: BaseException | None = error
    while before is not None and not isinstance(before, KeyboardInterrupt):
        before = before.__context__
    return before is not None


def is_cut_off(error: Exception) -> bool:
    """Whether the JVM has died, between two calls or during one.

    Other connection errors may be of cuesta's output, whose reader has closed it.
    """
    text = _text(error).strip()
    is_empty = text.startswith(_CALLING) and "\n" not in text
    return isinstance(error, ConnectionRefusedError) or is_empty


_CALLING = "An error occurred while calling"
_DOCTOR = "; `cuesta doctor` looks for the cause"
JVM_DIED = "the JVM died; if the machine ran out of memory, give less --memory or --threads"
WITHOUT_NAME = (
    "this account has a number and no name, and Hadoop's login needs one; add it to /etc/passwd, "
    "or start the container with --user NAME of an account that it knows"
)

_SIGNS = {
    "java.lang.OutOfMemoryError": "Spark ran out of memory; give it more with --memory",
    "No space left on device": "a disk is full; choose another --scratch or free some space",
    "Python worker exited unexpectedly": "a Python worker died, perhaps for want of memory; give "
    "more with --memory, or less text a task with --engine-option task-bytes=16MiB",
    "No module named 'cuesta'": "the executors' Python has no cuesta; install the same wheel "
    "there, or name their Python with --engine-option python=PATH",
    "Cannot run program": "the executors can't start their Python; name it with --engine-option "
    "python=PATH",
    "Cannot call methods on a stopped SparkContext": "the master does not answer, or has ended "
    "the application; check --master",
    "Answer from Java side is empty": JVM_DIED,
    "Error while sending or receiving": JVM_DIED,
    "JAVA_GATEWAY_EXITED": "the JVM ended before it was ready; see what `java -version` prints",
    "invalid null input: name": WITHOUT_NAME,
}


def first_words(error: Exception) -> str:
    """Return the first nonempty line of an error; for a Java error, the innermost cause's."""
    lines = [line.strip() for line in _text(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    chosen = causes[-1].removeprefix("Caused by: ") if causes else next(iter(lines), "")
    if chosen.startswith(_CALLING) and len(lines) > 1:
        chosen = lines[1].removeprefix(": ")
    return (chosen or type(error).__name__)[:LINE_CHARACTERS_MAX]


def _text(error: Exception) -> str:
    """Return the text of an error. PySpark queries a JVM for parts of it that may have ended."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__
