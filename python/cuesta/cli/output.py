"""Output of a command: results on stdout; `--json` prints the record, and words on stderr."""

from __future__ import annotations

import json
import sys
from types import TracebackType
from typing import Any

from cuesta.api.console import Console
from cuesta.api.verbosity import current
from cuesta.cli import verbosity
from cuesta.cli.streams import is_unicode


class Output:
    """Context manager around the work; the observer's display ends with it.

    Attributes
    ----------
    console
        For results in words: stdout, or stderr when stdout is for JSON.
    observer
        Shows the progress of the work, always on stderr.
    """

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.console = Console(stderr=as_json, is_quiet=as_json and current().quiet)
        self.observer = verbosity.observer()

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.observer.close()

    def print_json(self, value: dict[str, Any]) -> None:
        """Print `value` on stdout when JSON was requested."""
        if self._as_json:
            in_ascii = not is_unicode(sys.stdout)
            sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=in_ascii) + "\n")
            sys.stdout.flush()
