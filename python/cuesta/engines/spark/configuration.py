"""What a session sets of Spark's settings."""

from __future__ import annotations

import os
import re
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path

from cuesta.engines import site
from cuesta.engines.spark.options import Settings
from cuesta.errors import InputError
from cuesta.private import has_name

ARROW_ROWS = 65_536
ARROW_BYTES = 16 << 20
"""Bounds of a batch on its way between the JVM and a Python worker."""

AUTHENTICATE, SECRET = "spark.authenticate", "spark.authenticate.secret"
_SECRET = re.compile("secret|password|token|access[.]?key", re.IGNORECASE)
"""Names of settings that Spark itself does not show."""
_SITE_SERVICE = "spark.shuffle.service."
"""Settings of the shuffle service of a site begin so."""
_MAKES_SECRETS = ("yarn", "k8s:")
"""Masters for which Spark makes a secret of its own and hands it to executors begin so."""


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Return those that the command line of a JVM may have: every account can read that."""
    return {name: value for name, value in settings.items() if not _SECRET.search(name)}


def _authentication(settings: Settings) -> dict[str, str]:
    """Settings with which driver and executors prove themselves to each other.

    At the master of a site they are the site's: it has the secret, or none. Of one that a user has
    taken away, `spark.authenticate=false`, nothing is left.
    """
    chosen = dict(settings.options.spark)
    if chosen.get(AUTHENTICATE, "true") != "true":
        return {}
    if settings.options.is_local or settings.options.has_local_cluster:
        return {AUTHENTICATE: "true", SECRET: secrets.token_hex(32)}
    # A shuffle service of the site may have no authentication; then a session with it ends.
    names = "\n".join([*chosen, _site_settings()])
    if settings.options.master.startswith(_MAKES_SECRETS) and _SITE_SERVICE not in names:
        return {AUTHENTICATE: "true"}
    return {}


def _site_settings() -> str:
    """Return the text of the settings of a site, empty without any."""
    home = site.spark_home(os.environ) or os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    try:
        return Path(folder, "spark-defaults.conf").read_text(errors="replace") if folder else ""
    except OSError:
        return ""


def configured(settings: Settings, folder: Path, events: Path) -> dict[str, str]:
    """Spark's settings: ours, and over them the user's.

    Arguments: `folder` is the session's own; `events` is where the event log is written. Errors:
    `InputError` for a folder that Spark cannot be told of.
    """
    if "," in str(folder):
        raise InputError(
            f"{folder}: Spark takes a comma in it for two folders; give another --scratch"
        )
    # It may have spaces; options of Java are words.
    java_options = shlex.quote(f"-XX:ErrorFile={folder}/java-crash.log")
    if not has_name():
        # The JVM takes it from the data base of accounts; without it Ivy's folder is `?/.ivy2`.
        java_options += " " + shlex.quote(f"-Duser.home={folder}")
    given = dict(settings.options.spark)
    given_java_options = given.pop("spark.driver.extraJavaOptions", "")
    place = {}
    if settings.options.is_local or settings.options.has_local_cluster:
        place = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if not settings.options.is_local:
        place |= {
            "spark.executor.memory": f"{settings.heap_bytes >> 20}m",
            "spark.executor.memoryOverhead": f"{settings.overhead_bytes >> 20}m",
        }
    return {
        "spark.app.name": "cuesta",
        "spark.master": settings.options.master,
        "spark.driver.memory": f"{settings.heap_bytes >> 20}m",
        "spark.driver.extraJavaOptions": f"{java_options} {given_java_options}".strip(),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_ROWS),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(ARROW_BYTES),
        # Listing a thousand folders takes less than starting a job for it.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
        # A row twice must be found before anything is filtered out by the other side.
        "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
        **place,
        **_authentication(settings),
        **_jar(settings.jar),
        **given,
    }


def _jar(path: str) -> dict[str, str]:
    """The jar for the driver and for the executors of a cluster, and what RDDs travel fast with."""
    if not path:
        return {}
    return {
        "spark.jars": path,
        "spark.driver.extraClassPath": path,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    }
