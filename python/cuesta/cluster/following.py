"""Follows a job until it has ended, and reports its output."""

from __future__ import annotations

import time
from collections.abc import Callable

from cuesta.cluster import control
from cuesta.cluster.describe import time_lines
from cuesta.cluster.folder import OVER, ClusterFolder
from cuesta.cluster.limits import FOLLOW_SECONDS

_LOOK_SECONDS = 0.1


def followed(
    folder: ClusterFolder,
    report: Callable[[str], None],
    note: Callable[[str], None] | None = None,
) -> int:
    """Follow the job of a folder and return its exit code; Ctrl-C ends the job.

    Arguments: `report` is called with output of the command, `note` with the reason for which the
    job waits, when it changes.
    """
    log = folder.log("leader")
    observer = control.Observer(folder)
    shown = 0
    reason, looked_at = "", float("-inf")
    try:
        while True:
            state = observer.state()
            if state["state"] == "submitted" and time.monotonic() - looked_at > FOLLOW_SECONDS:
                previous, reason = reason, control.waiting_reason(folder, state)
                looked_at = time.monotonic()
                if note and reason and reason != previous:
                    note(f"job {folder.job()} waits: {reason}")
            text = log.read_text(errors="replace") if log.exists() else ""
            complete = len(text) if state["state"] in OVER else text.rfind("\n") + 1
            if text[shown:complete]:
                report(text[shown:complete].rstrip("\n"))
            shown = max(shown, complete)
            if state["state"] in OVER:
                break
            time.sleep(_LOOK_SECONDS)
    except BaseException:
        control.down(folder)
        raise
    why = state.get("why")
    if why and why not in text:
        # A leader that was killed, or never ran, has not written the reason.
        report(f"cuesta: {why}")
    for line in time_lines(state["times"]):
        report(line)
    return int(state.get("code", 3))
