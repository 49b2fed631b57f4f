"""Work beside other work: on a thread, its result or its error later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BackgroundTask(Generic[Result]):
    """Starts `work` at once; `result` waits for it. Nobody waits for it where nobody asks."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._done: Result
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="cuesta-beside", daemon=True)
        self._thread.start()

    def result(self) -> Result:
        """What `work` returned. Errors: those of `work`."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._done

    def _run(self) -> None:
        try:
            self._done = self._work()
        except BaseException as error:
            self._error = error
