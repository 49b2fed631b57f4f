"""A program as a process tree that is held to limits, measured, and ended with all it started.

A process of its own runs each program: orphans of the tree become its children (a subreaper), so
that no process leaves the tree by a fork or a session of its own, and what they used is counted.
Only what another daemon starts on request, such as a container, is outside.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import struct
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuesta import processes
from cuesta.errors import in_words
from cuesta.programs import groups
from cuesta.programs.output import LIMIT_BYTES, Stream
from cuesta.programs.watch import Watch

TERM_SECONDS = 3.0
"""Seconds that a program over its limit has between SIGTERM and SIGKILL."""
FINISH_SECONDS = 0.3
"""Seconds that processes which a program leaves behind have to end by themselves."""
KILL_SECONDS = 10.0
NAMED_MAX = 8

TIME, MEMORY = "time", "memory"
"""Limits for which a program is ended."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A run of a program.

    Attributes
    ----------
    words
        The program and its arguments.
    folder
        Folder in which it runs.
    output
        Folder for the files `stdout.txt` and `stderr.txt`.
    environment
        Variables besides those of this process.
    cores
        Cores that the tree may use.
    stdout_limit_bytes
        Most bytes of the standard output in its file.
    """

    words: tuple[str, ...]
    folder: Path
    output: Path
    environment: Mapping[str, str]
    cores: tuple[int, ...]
    memory_bytes: int
    time_limit_seconds: float
    stdout_limit_bytes: int = LIMIT_BYTES


@dataclass(frozen=True, kw_only=True)
class StreamEnd:
    """Standard output or error of a run: its size, whether its file is cut, its last lines."""

    bytes: int
    is_cut: bool
    tail: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A run of a program that has ended.

    Attributes
    ----------
    exit_code
        Code of its first process; negative for a signal, None if it did not start.
    reason
        Why it was ended, `TIME` or `MEMORY`, else empty; or why it did not start.
    leftovers
        Names of the processes that it had left behind, and that were ended.
    written
        Files outside of its folder that it had open for writing.
    memory_by
        Keeper of the memory limit: `control group` or `samples`.
    """

    wall_seconds: float
    exit_code: int | None
    reason: str = ""
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    peak_resident_bytes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    device_read_bytes: int = 0
    device_written_bytes: int = 0
    major_faults: int = 0
    waits: int = 0
    preemptions: int = 0
    processes: int = 1
    leftovers: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    memory_by: str = ""
    stdout: StreamEnd | None = None
    stderr: StreamEnd | None = None
    timeline: Mapping[str, Any] = field(default_factory=dict)


def run(request: Request) -> Ended:
    """Run a program, in a process that has no other children and one thread; end all of its tree.

    The calling process becomes the parent of orphans. Its time is from the start of the program
    until its first process ends.
    """
    processes.adopt_orphans()
    group = groups.make(request.memory_bytes)
    stdout = Stream(request.output / "stdout.txt", request.stdout_limit_bytes)
    stderr = Stream(request.output / "stderr.txt")
    try:
        return _Run(request, group, stdout, stderr).ended()
    finally:
        end_all(0.0)
        stdout.close()
        stderr.close()
        if group:
            group.remove()


class _Run:
    """A program from its start to its end."""

    def __init__(
        self, request: Request, group: groups.MemoryGroup | None, stdout: Stream, stderr: Stream
    ) -> None:
        self._request = request
        self._group = group
        self._streams = (stdout, stderr)
        self._reason = ""

    def ended(self) -> Ended:
        """Run it and describe the run."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        watch = Watch(self._request.folder)
        try:
            process, began = self._start()
        except OSError as error:
            watch.close()
            why = f"{self._request.words[0]}: {in_words(error)}"
            return Ended(wall_seconds=0.0, exit_code=None, reason=why)
        for stream in self._streams:
            stream.close_writing()
        watch.begin(began)
        at_end = self._wait(process, began, watch)
        if self._reason:
            _terminate(process, TERM_SECONDS)
        code = process.wait()
        leftovers = end_all(0.0 if self._reason else FINISH_SECONDS)
        for stream in self._streams:
            while stream.read():
                pass
        if not self._reason and code == -signal.SIGKILL and self._group and self._group.was_full():
            self._reason = MEMORY
        usage = watch.usage(before)
        return Ended(
            wall_seconds=at_end - began,
            exit_code=code,
            reason=self._reason,
            leftovers=tuple(leftovers) if not self._reason else (),
            memory_by="control group" if self._group else "samples",
            stdout=_stream_end(self._streams[0]),
            stderr=_stream_end(self._streams[1]),
            **usage,
        )

    def _start(self) -> tuple[subprocess.Popen[bytes], float]:
        """Start the program; return it and the time right before it took over its process."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        cores, group = self._request.cores, self._group

        def prepare() -> None:
            processes.die_with_parent()
            os.sched_setaffinity(0, cores)
            with contextlib.suppress(OSError):
                Path("/proc/self/oom_score_adj").write_text("500")
            if group:
                group.enter()
            os.write(writing, struct.pack("d", time.perf_counter()))

        try:
            process = subprocess.Popen(
                self._request.words,
                cwd=self._request.folder,
                env={**os.environ, **self._request.environment},
                stdin=subprocess.DEVNULL,
                stdout=self._streams[0].writing,
                stderr=self._streams[1].writing,
                start_new_session=True,
                preexec_fn=prepare,
            )
            return process, struct.unpack("d", os.read(reading, 8))[0]
        finally:
            os.close(reading)
            os.close(writing)

    def _wait(self, process: subprocess.Popen[bytes], began: float, watch: Watch) -> float:
        """Read the streams and watch the tree until its first process ends, or is to be ended."""
        deadline = began + self._request.time_limit_seconds
        with selectors.DefaultSelector() as selector, _exit_of(process.pid) as exits:
            selector.register(exits, selectors.EVENT_READ, None)
            for stream in self._streams:
                selector.register(stream.reading, selectors.EVENT_READ, stream)
            while True:
                pause = max(0.0, min(watch.due, deadline) - time.perf_counter())
                for key, _ in selector.select(pause):
                    if key.data is None:
                        return time.perf_counter()
                    if key.data.read() == 0:
                        selector.unregister(key.fileobj)
                now = time.perf_counter()
                limit_bytes = self._request.memory_bytes
                is_due = now >= watch.due
                if is_due and watch.look() > limit_bytes < watch.resident_exactly():
                    self._reason = MEMORY
                if now >= deadline:
                    self._reason = TIME
                if self._reason:
                    return now


@contextlib.contextmanager
def _exit_of(pid: int) -> Any:
    """A descriptor that is readable once a child has ended."""
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _terminate(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Ask the session of a program to end, and wait for its first process."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.kill()


def end_all(finish_seconds: float) -> list[str]:
    """End all processes below this one but ended children; return the names of those ended.

    They have `finish_seconds` to end by themselves. All ended children are reaped, so that what
    they used counts.
    """
    deadline = time.monotonic() + finish_seconds
    while living() and time.monotonic() < deadline:
        time.sleep(0.01)
    names: list[str] = []
    deadline = time.monotonic() + KILL_SECONDS
    while (pids := living()) and time.monotonic() < deadline:
        for pid in pids:
            name = _name(pid)
            if name and len(names) < NAMED_MAX:
                names.append(name)
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
        _reap()
    _reap()
    return sorted(set(names))


def living() -> list[int]:
    """All descendants that have not ended."""
    return [pid for pid in processes.descendants(os.getpid()) if processes.identity(pid)]


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return ""


def _stream_end(stream: Stream) -> StreamEnd:
    return StreamEnd(bytes=stream.count_bytes, is_cut=stream.is_cut, tail=stream.tail)
