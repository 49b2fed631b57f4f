"""Starts and ends Spark: one JVM, one session, and started Python workers."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta import removal
from cuesta.children import with_environment
from cuesta.engines import site
from cuesta.engines.spark import archive, executor, first_task, launch, masters, sockets
from cuesta.engines.spark.configuration import configured, without_secrets
from cuesta.engines.spark.eventlog import EventLog, facts, stages
from cuesta.engines.spark.failures import engine_error, is_interrupted
from cuesta.engines.spark.java import HOW_TO_GET, find_java
from cuesta.engines.spark.losses import losses
from cuesta.engines.spark.options import Settings
from cuesta.errors import CuestaError, EngineError, EngineMissing
from cuesta.private import open_new
from cuesta.processes import descendants
from cuesta.trial import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

STOP_SECONDS = 10.0
"""Time for the JVM to end before it is killed."""
LOG_MILLISECONDS = 10_000
"""Time to wait for the event log."""
GREETING = "version string, node string"
"""Columns that an executor reports about itself."""
PASSED = "part int, node string"


@dataclass(frozen=True, kw_only=True)
class Places:
    """Folders of a session: `folder` for its files; `logs` for the log of a failure."""

    folder: Path
    logs: Path


def make_places(scratch: Path) -> Places:
    """Make a folder with the lifetime of the session, and choose one that outlives a failed run.

    The lab empties `scratch` before each repeat, and at the end of a run it always removes the
    parent of `scratch`; so the session's folder is in that, and logs are in the folder above.
    """
    return Places(
        folder=Path(tempfile.mkdtemp(prefix="cuesta-spark-", dir=scratch.parent)),
        logs=scratch.parent.parent,
    )


class Session:
    """A running Spark.

    Attributes
    ----------
    spark
        The session of PySpark.
    settings
        Settings of its start.
    slots, nodes
        Tasks that run at once, and nodes that they run on.
    versions
        Versions of Spark and of its Java.
    cached
        Bytes that a run had in caches at its end, by place, where it reports them.
    python_seconds
        Times of Python workers in the tasks of a run, where they were counted.
    stages
        Stages of the run that `log_totals` read last.
    start_seconds
        Times of the start, by step: `jvm`, `context`, `session`, `workers`.
    """

    def __init__(self, spark: SparkSession, settings: Settings, places: Places) -> None:
        context = spark.sparkContext
        self.spark = spark
        self.settings = settings
        self.slots = max(1, context.defaultParallelism)
        self.nodes = 1
        self.versions = {"spark": spark.version, "java": _jvm_version(spark)}
        self.cached: dict[str, float] = {}
        self.python_seconds: dict[str, float] = {}
        self.stages: list[Stage] = []
        self.start_seconds: dict[str, float] = {}
        self.places = places
        self._gateway: Any = context._gateway
        self._log = EventLog(_events_of(places))
        self._runs = 0
        _silence(spark)

    def begin(self) -> None:
        """Begin another run, to which later jobs belong."""
        self._runs += 1
        self.cached, self.python_seconds = {}, {}
        self.spark.sparkContext.setJobGroup(self._group, "cuesta")

    def log_totals(self) -> dict[str, float]:
        """Return totals from the event log of the last run, which has ended."""
        context: Any = self.spark.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty(LOG_MILLISECONDS)
        events = list(self._log.events())
        self.stages = stages(events, self._group)
        totals = facts(events, self._group) | losses(events, self._group)
        return totals | self.cached | self.python_seconds

    @property
    def _group(self) -> str:
        return f"cuesta-{self._runs}"

    def map_arrow(self, rows: DataFrame, function: Callable[..., Any], schema: str) -> DataFrame:
        """Apply `DataFrame.mapInArrow`, without its import of pandas, which it does not use."""
        from pyspark.sql import DataFrame
        from pyspark.sql.udf import UserDefinedFunction
        from pyspark.util import PythonEvalType

        mapped = UserDefinedFunction(
            function, returnType=schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
        )
        column: Any = mapped(*[rows[name] for name in rows.columns])
        plan: Any = rows._jdf
        return DataFrame(plan.mapInArrow(column._jc, False, None), self.spark)

    @property
    def is_dead(self) -> bool:
        """Whether the JVM has ended by itself."""
        return self._gateway.proc.poll() is not None

    def keep_log(self) -> Path | None:
        """Copy the log to a folder that outlives the session; return the copy."""
        return _keep_log(self.places)

    def rehearse(self) -> None:
        """Run the steps of a round, including a shuffle, so that an archive has their classes."""
        tasks = self.spark.range(0, 4, 1, 4)
        sent = self.map_arrow(tasks, executor.greet, GREETING).selectExpr("1 AS part", "node")
        self.begin()
        exchanged = sent.repartitionById(2, "part")
        received = self.map_arrow(exchanged, executor.passed, PASSED).toArrow()
        assert received.num_rows == 4
        self.log_totals()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """End Spark; kill its JVM where that takes longer than `seconds`."""
        try:
            # PySpark's own `stop` waits half a second for a server of its own to notice.
            context: Any = self.spark.sparkContext
            server = getattr(context, "_accumulatorServer", None)
            if server is not None:
                threading.Thread(target=server.shutdown, daemon=True).start()
            with quiet(), contextlib.suppress(Exception):
                context._jsc.stop()
            with quiet(), contextlib.suppress(Exception):
                self._gateway.shutdown()
        finally:
            self._end(seconds)

    def kill(self) -> None:
        """End Spark immediately, also during a job."""
        self._gateway.proc.terminate()
        self._end()

    def _end(self, seconds: float = STOP_SECONDS) -> None:
        process: subprocess.Popen[bytes] = self._gateway.proc
        if process.stdin:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _forget()
        sockets.remove(self.places.folder)
        removal.discard(self.places.folder)


def start(settings: Settings, places: Places, java_words: Sequence[str] = ()) -> Session:
    """Start a session and its Python workers.

    Arguments: `java_words` are options of the JVM instead of those that use its archive.
    Errors: `EngineMissing` without Java; `EngineError` when Spark or its executors do not start.
    """
    _refuse_second(places)
    began = time.time()
    started: Session | None = None
    try:
        # Py4J also logs the errors that it raises, and Ctrl-C.
        with quiet():
            started = _start(settings, places, java_words)
            if not settings.jar:
                with _timed(started.start_seconds, "workers"):
                    _greet(started)
                first_task.write_times(started.spark, began)
    except BaseException as error:
        start_error: BaseException = error
        if is_interrupted(error):
            start_error = KeyboardInterrupt()
        elif isinstance(error, Exception) and not isinstance(error, CuestaError):
            what = f"Spark does not start at {settings.options.master}"
            start_error = engine_error(error, what, _keep_log(places))
        if started:
            started.kill()
        else:
            _abandon(places)
        raise start_error from None
    return started


def _refuse_second(places: Places) -> None:
    """End an idle JVM of PySpark, which has one in a process. Errors: `EngineError`: in use."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        places.folder.rmdir()
        raise EngineError("engine spark: this process has a Spark session already; stop that first")
    idle: Any = SparkContext._gateway
    if idle is not None:
        with quiet(), contextlib.suppress(Exception):
            idle.shutdown()
        _forget()


def _start(settings: Settings, places: Places, java_words: Sequence[str]) -> Session:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    java = find_java(os.environ)
    if java is None:
        raise EngineMissing(HOW_TO_GET)
    variables = site.spark_variables(os.environ)
    known = masters.settings_of(settings.options.master)
    if settings.options.is_local or settings.options.has_local_cluster:
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    elif known and "SPARK_CONF_DIR" not in os.environ:
        variables["SPARK_CONF_DIR"] = str(known)
    _events_of(places).mkdir()
    configuration = configured(settings, places.folder, _events_of(places))
    if settings.options.is_local:
        configuration = sockets.settings(places.folder) | configuration
    here = {**os.environ, **variables}
    words = launch.find(java, here) if launch.suits(dict(settings.options.spark)) else None
    if words:
        more = java_words or archive.reading(archive.place(words, java))
        variables["JAVA_HOME"] = str(java.home)
        home = launch.spark_home(words, configuration, places.folder, more)
        variables["SPARK_HOME"] = str(home)
    else:
        variables["JAVA_HOME"] = str(java.home_for_spark(places.folder))
    # PySpark passes the first to a JVM on the command line, which all accounts can read, the second
    # through its connection.
    public, conf = SparkConf(loadDefaults=False), SparkConf(loadDefaults=False)
    public.setAll(list(without_secrets(configuration).items()))
    conf.setAll(list(configuration.items()))
    start_seconds: dict[str, float] = {}
    log = _log_of(places)
    with log.open("ab") as sink, with_environment(variables), _timed(start_seconds, "jvm"):
        piped = {"stdout": sink, "stderr": subprocess.STDOUT, "cwd": str(places.folder)}
        gateway = launch_gateway(public, piped)  # type: ignore[no-untyped-call]
    with _python_interrupts(), warnings.catch_warnings():
        # PySpark looks for pandas wherever it is installed and comments on its version.
        warnings.simplefilter("ignore", FutureWarning)
        with _timed(start_seconds, "context"):
            context = SparkContext(conf=conf, gateway=gateway)
        context.pythonExec = settings.options.python
        with _timed(start_seconds, "session"):
            session = Session(SparkSession(context), settings, places)
    session.start_seconds |= start_seconds
    return session


@contextlib.contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began


def _greet(session: Session) -> None:
    """Start the Python workers and check that they have the same version of cuesta."""
    slots = session.slots
    range_of_slots = session.spark.range(0, slots, 1, slots)
    greetings = session.map_arrow(range_of_slots, executor.greet, GREETING).toArrow()
    session.nodes = len(set(greetings.column("node").to_pylist()))
    session.spark.conf.set("spark.sql.shuffle.partitions", str(2 * slots))
    ours = executor.version()
    other_versions = sorted(set(greetings.column("version").to_pylist()) - {ours})
    if other_versions:
        raise EngineError(
            f"the executors have cuesta {other_versions[0]}, the driver has {ours}; install the "
            "same wheel everywhere, or name the executors' Python with --engine-option python=PATH"
        )


def _jvm_version(spark: SparkSession) -> str:
    jvm: Any = spark.sparkContext._jvm
    return str(jvm.java.lang.System.getProperty("java.version"))


def _events_of(places: Places) -> Path:
    return places.folder / "events"


def _log_of(places: Places) -> Path:
    return places.folder / "spark.log"


def _keep_log(places: Places) -> Path | None:
    log = _log_of(places)
    copy = places.logs / f"cuesta-spark-{os.getpid()}-{int(time.time())}.log"
    try:
        # The name is predictable: no existing link is followed, no existing file overwritten.
        with log.open("rb") as source, open_new(copy) as target:
            shutil.copyfileobj(source, target)
    except OSError:
        return None
    return copy


@contextlib.contextmanager
def _python_interrupts() -> Iterator[None]:
    """Keep the handler of Ctrl-C: PySpark sets one that waits for a JVM which may never answer."""
    from pyspark.core import context

    # Its code sets the handler by the name `signal` of its module.
    names = vars(context)
    real, silent = names["signal"], types.SimpleNamespace(SIGINT=signal.SIGINT)
    silent.signal = lambda *_: None
    names["signal"] = silent
    try:
        yield
    finally:
        names["signal"] = real


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress stack traces of Py4J on stderr: it also logs the errors that it raises."""
    nowhere = logging.NullHandler()
    logging.getLogger().addHandler(nowhere)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(nowhere)


def _silence(spark: SparkSession) -> None:
    """Suppress stack traces of PySpark's accumulator server on stderr after the JVM's end."""
    server: Any = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


def _abandon(places: Places) -> None:
    """End the remaining processes of a failed start: a JVM for which no handle may exist yet."""
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            words = Path("/proc", str(pid), "cmdline").read_bytes()
            if os.fsencode(places.folder) in words:
                os.kill(pid, signal.SIGKILL)
    _forget()
    sockets.remove(places.folder)
    removal.discard(places.folder)


def _forget() -> None:
    """Make PySpark forget its JVM, so that another one can be started in this process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
