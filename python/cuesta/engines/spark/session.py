"""Starts and ends Spark: one JVM, one session, Python workers that are warm."""

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
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta import removal
from cuesta.engines import site
from cuesta.engines.spark import archive, executor, first_task, launch, masters, sockets
from cuesta.engines.spark.configuration import configured, without_secrets
from cuesta.engines.spark.eventlog import EventLog, facts, stages
from cuesta.engines.spark.failures import engine_error
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
"""How long the JVM may take to end before it is killed."""
LOG_MILLISECONDS = 10_000
"""How long the event log may lag behind."""
GREETING = "version string, node string"
"""What an executor tells of itself."""
PASSED = "part int, node string"


@dataclass(frozen=True, kw_only=True)
class Places:
    """Folders of a session: `folder` for its own files; `logs` keeps the log of a failure."""

    folder: Path
    logs: Path


def make_places(scratch: Path) -> Places:
    """A new folder that lives as long as the session, and one that outlives a failed run.

    The lab empties `scratch` before every repeat, and whatever becomes of a run, it removes the
    folder that holds `scratch`; so the session's folder is there, and the log goes further up.
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
        What it was started with.
    slots, nodes
        Tasks that run at once, and nodes that they run on.
    versions
        Of Spark and of its Java.
    cached
        Bytes that a run had in caches at its end, by place, where it says so.
    spent
        What Python workers spent in the tasks of a run, where it was counted.
    stages
        Of the run that was told of last.
    start_seconds
        What its start took, by what was started: `jvm`, `context`, `session`, `workers`.
    """

    def __init__(self, spark: SparkSession, settings: Settings, places: Places) -> None:
        context = spark.sparkContext
        self.spark = spark
        self.settings = settings
        self.slots = max(1, context.defaultParallelism)
        self.nodes = 1
        self.versions = {"spark": spark.version, "java": _jvm_version(spark)}
        self.cached: dict[str, float] = {}
        self.spent: dict[str, float] = {}
        self.stages: list[Stage] = []
        self.start_seconds: dict[str, float] = {}
        self.places = places
        self._gateway: Any = context._gateway
        self._log = EventLog(_events_of(places))
        self._runs = 0
        _silence(spark)

    def begin(self) -> None:
        """From now on jobs are those of another run."""
        self._runs += 1
        self.cached, self.spent = {}, {}
        self.spark.sparkContext.setJobGroup(self._group, "cuesta")

    def log_totals(self) -> dict[str, float]:
        """What the event log says of the run that began last, and has ended."""
        context: Any = self.spark.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty(LOG_MILLISECONDS)
        events = list(self._log.events())
        self.stages = stages(events, self._group)
        found = facts(events, self._group) | losses(events, self._group)
        return found | self.cached | self.spent

    @property
    def _group(self) -> str:
        return f"cuesta-{self._runs}"

    def map_arrow(self, rows: DataFrame, function: Callable[..., Any], schema: str) -> DataFrame:
        """`DataFrame.mapInArrow`, which asks for pandas though it has no use for it."""
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
        """Copy the log to where it stays."""
        return _keep_log(self.places)

    def rehearse(self) -> None:
        """Do once what rounds do, a shuffle among it, so that an archive has its classes."""
        tasks = self.spark.range(0, 4, 1, 4)
        sent = self.map_arrow(tasks, executor.greet, GREETING).selectExpr("1 AS part", "node")
        self.begin()
        got = self.map_arrow(sent.repartitionById(2, "part"), executor.passed, PASSED).toArrow()
        assert got.num_rows == 4
        self.log_totals()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """End Spark in good order; kill its JVM where it takes longer than `seconds`."""
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
        """End Spark at once, whatever it is doing."""
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
    """Bring up a session and its Python workers.

    Arguments: `java_words` are options of the JVM instead of those that use its archive.
    Errors: `EngineMissing` without Java; `EngineError` when Spark or its executors do not come up.
    """
    _refuse_second(places)
    began = time.time()
    started: Session | None = None
    try:
        started = _start(settings, places, java_words)
        if not settings.jar:
            with _timed(started.start_seconds, "workers"):
                _greet(started)
            first_task.tell(started.spark, began)
    except BaseException as error:
        told: BaseException = error
        if isinstance(error, Exception) and not isinstance(error, CuestaError):
            what = f"Spark does not start at {settings.options.master}"
            told = engine_error(error, what, _keep_log(places))
        if started:
            started.kill()
        else:
            _abandon(places)
        raise told from None
    return started


def _refuse_second(places: Places) -> None:
    """PySpark holds one JVM a process. Errors: `EngineError` when somebody else's is in use."""
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
    # PySpark hands the first to a JVM as words, which every account can read, the second by itself.
    public, conf = SparkConf(loadDefaults=False), SparkConf(loadDefaults=False)
    public.setAll(list(without_secrets(configuration).items()))
    conf.setAll(list(configuration.items()))
    spent: dict[str, float] = {}
    log = _log_of(places)
    with log.open("ab") as sink, _environment(variables), _timed(spent, "jvm"):
        piped = {"stdout": sink, "stderr": subprocess.STDOUT, "cwd": str(places.folder)}
        gateway = launch_gateway(public, piped)  # type: ignore[no-untyped-call]
    with _interrupts_kept(), warnings.catch_warnings():
        # PySpark looks for pandas wherever it is installed and comments on its version.
        warnings.simplefilter("ignore", FutureWarning)
        with _timed(spent, "context"):
            context = SparkContext(conf=conf, gateway=gateway)
        context.pythonExec = settings.options.python
        with _timed(spent, "session"):
            session = Session(SparkSession(context), settings, places)
    session.start_seconds |= spent
    return session


@contextlib.contextmanager
def _timed(spent: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    spent[name] = time.perf_counter() - began


def _greet(session: Session) -> None:
    """Start the Python workers and see that they have this very package."""
    slots = session.slots
    range_of_slots = session.spark.range(0, slots, 1, slots)
    found = session.map_arrow(range_of_slots, executor.greet, GREETING).toArrow()
    session.nodes = len(set(found.column("node").to_pylist()))
    session.spark.conf.set("spark.sql.shuffle.partitions", str(2 * slots))
    ours = executor.version()
    others = sorted(set(found.column("version").to_pylist()) - {ours})
    if others:
        raise EngineError(
            f"the executors have cuesta {others[0]}, the driver has {ours}; install the same wheel "
            "everywhere, or name the executors' Python with --engine-option python=PATH"
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
    kept = places.logs / f"cuesta-spark-{os.getpid()}-{int(time.time())}.log"
    try:
        # Of a name that can be foreseen: none that is there is followed or written over.
        with log.open("rb") as source, open_new(kept) as target:
            shutil.copyfileobj(source, target)
    except OSError:
        return None
    return kept


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """These environment variables, for as long as a process is started."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Undo PySpark's own handler of Ctrl-C, which waits for the JVM to answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No stack traces of Py4J on stderr, which logs what it raises as well."""
    nowhere = logging.NullHandler()
    logging.getLogger().addHandler(nowhere)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(nowhere)


def _silence(spark: SparkSession) -> None:
    """No stack traces of PySpark's accumulator server on stderr when the JVM is gone."""
    server: Any = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


def _abandon(places: Places) -> None:
    """End what a start that failed has left: a JVM that perhaps nobody has a handle of yet."""
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
