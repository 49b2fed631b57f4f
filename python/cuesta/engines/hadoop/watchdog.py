"""Kills the jobs of a client of Hadoop on YARN when the process that has started both is killed.

`python -m cuesta.engines.hadoop.watchdog CLIENT LOG WORDS...`. `CLIENT` is the client's
`processes.identity`, `LOG` the descriptor of the file that it writes its log to, and `WORDS` kill
the job that is put behind them. The standard input is a pipe of that process: a byte says that all
went in order, and its end that nobody could say so.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from cuesta.processes import lives

KILL_SECONDS = 30.0
"""How long the kill of a job may take."""
KILL_TRIES = 3
"""A client that was killed may have just handed its job in: YARN does not know it at once."""
_AGAIN_SECONDS = 1.0
_JOB = re.compile(r"\bjob_\d+_\d+\b")
"""As Hadoop's client names a job on YARN in its log, before it submits it."""


def main(client: str, log: int, words: Sequence[str]) -> None:
    """Wait for the end of the process that has started this one; kill the jobs where it was sudden.

    A signal to a group does not reach this process, which is in a session of its own.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.read(0, 1):
        return
    # The kernel has told it to end with that process, too.
    while lives(client):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(client.partition(":")[0]), signal.SIGKILL)
        time.sleep(0.01)
    kill(words, jobs_in(log))


def started(client: str, log: int, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """A watchdog of this process."""
    program = [sys.executable, "-m", "cuesta.engines.hadoop.watchdog", client, str(log)]
    return subprocess.Popen(
        [*program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(log,),
        start_new_session=True,
    )


def dismiss(dog: subprocess.Popen[bytes]) -> None:
    """Tell a watchdog that all went in order, and wait for its end."""
    with contextlib.suppress(BrokenPipeError):
        dog.communicate(b".")


def jobs_in(log: int) -> list[str]:
    """The jobs that a log names, whose client may be writing at its end."""
    text = os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")
    return sorted(set(_JOB.findall(text)))


def kill(words: Sequence[str], jobs: Sequence[str]) -> None:
    """Kill jobs as Hadoop's own client does; its end is not waited for too long."""
    for job in jobs:
        for _ in range(KILL_TRIES):
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = subprocess.run(
                    [*words, job],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                    timeout=KILL_SECONDS,
                )
                if done.returncode == 0:
                    break
            time.sleep(_AGAIN_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
