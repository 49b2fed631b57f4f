"""Background work on a thread, with its result or error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BackgroundTask(Generic[Result]):
    """Starts `work` at once; only `result` waits for it."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._done: Result
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="cuesta-beside", daemon=True)
        self._thread.start()

    def result(self) -> Result:
        """Wait for the result of `work`. Errors: those of `work`."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._done

    def _run(self) -> None:
        try:
            self._done = self._work()
        except BaseException as error:
            self._error = error
