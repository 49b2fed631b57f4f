"""Kills jobs of a client of Hadoop on YARN when the process that started client and watchdog dies.

`python -m cuesta.engines.hadoop.watchdog CLIENT LOG WORDS...`. `CLIENT` is the client's
`processes.identity`, `LOG` the descriptor of its log file, and `WORDS` the command that kills the
job appended to it. The standard input is a pipe of the starting process: a byte reports its normal
end, a closed pipe without one that it was killed.
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

from cuesta.children import module_command
from cuesta.processes import lives

KILL_SECONDS = 30.0
"""Time limit for the kill of a job."""
KILL_TRIES = 3
"""Tries to kill a job: YARN may not know it yet if the client was killed just after submission."""
_AGAIN_SECONDS = 1.0
_JOB = re.compile(r"\bjob_\d+_\d+\b")
"""Name of a job on YARN, which Hadoop's client logs before it submits the job."""


def main(client: str, log: int, words: Sequence[str]) -> None:
    """Wait for the end of the process that started this one; kill the jobs if it was killed.

    A signal to its process group does not reach this process, which has its own session.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.read(0, 1):
        return
    # The kernel kills the client with that process, too.
    while lives(client):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(client.partition(":")[0]), signal.SIGKILL)
        time.sleep(0.01)
    kill(words, jobs_in(log))


def started(client: str, log: int, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a watchdog of this process."""
    program = module_command("cuesta.engines.hadoop.watchdog", client, str(log))
    return subprocess.Popen(
        [*program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(log,),
        start_new_session=True,
    )


def dismiss(watchdog: subprocess.Popen[bytes]) -> None:
    """Report a normal end to a watchdog, and wait for its exit."""
    with contextlib.suppress(BrokenPipeError):
        watchdog.communicate(b".")


def jobs_in(log: int) -> list[str]:
    """Return the jobs that a log names, while its client may append to it."""
    text = os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")
    return sorted(set(_JOB.findall(text)))


def kill(words: Sequence[str], jobs: Sequence[str]) -> None:
    """Kill jobs with Hadoop's client, for a limited time."""
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
