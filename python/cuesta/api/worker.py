"""The process of a job; see `cuesta.api.process`."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import threading
from io import BufferedRWPair
from typing import TYPE_CHECKING

from cuesta.api.process import DONE, FAILED, OBSERVED
from cuesta.errors import CuestaError, Defect

if TYPE_CHECKING:
    from cuesta.api.jobs import Job


def main(descriptor: int) -> None:
    """Do the job that arrives over the socket, and report its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    ends = socket.socket(fileno=descriptor)
    ends.set_inheritable(False)
    stream = ends.makefile("rwb")
    try:
        job: Job = pickle.load(stream)
        threading.Thread(target=_end_with_caller, args=(ends,), daemon=True).start()
        _do(job, Speaker(stream))
    except (KeyboardInterrupt, EOFError, ConnectionError):  # The caller ends it, or has exited.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def _do(job: Job, speaker: Speaker) -> None:
    try:
        job.do(speaker)
    except CuestaError as error:
        speaker.send(FAILED, type(error).__name__, str(error), "")
    except (KeyboardInterrupt, ConnectionError):
        raise
    except BaseException as error:  # Also a panic of the native module.
        import traceback

        where = "".join(traceback.format_exception(error))
        speaker.send(FAILED, Defect.__name__, str(Defect.of(error)), where)
    else:
        speaker.send(DONE)


_ENDING = threading.Event()
"""Set while the clean-up runs, which is not to be interrupted."""


def _stop(_number: int, _frame: object) -> None:
    if not _ENDING.is_set():
        _ENDING.set()
        raise KeyboardInterrupt


def _end_with_caller(ends: socket.socket) -> None:
    """Wait until the caller has ended, then stop this process as the caller would have."""
    while ends.recv(1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


class Speaker:
    """An observer that sends its calls to the caller."""

    def __init__(self, stream: BufferedRWPair) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def note(self, text: str) -> None:
        """Send a sentence worth a line."""
        self.send(OBSERVED, "note", (text,))

    def stage(self, name: str) -> None:
        """Send the name of the stage that begins."""
        self.send(OBSERVED, "stage", (name,))

    def detail(self, text: str) -> None:
        """Send a sentence of detail."""
        self.send(OBSERVED, "detail", (text,))

    def progress(self, done: int, total: int) -> None:
        """Send the progress of the stage."""
        self.send(OBSERVED, "progress", (done, total))

    def close(self) -> None:
        """Send that the stage is over."""
        self.send(OBSERVED, "close", ())

    def send(self, *message: object) -> None:
        """Send a message; from any thread."""
        try:
            with self._lock:
                pickle.dump(message, self._stream)
                self._stream.flush()
        except ConnectionError:  # The caller has exited; `_end_with_caller` notices it too.
            _ENDING.set()
            raise
