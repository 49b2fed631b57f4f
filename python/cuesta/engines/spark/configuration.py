"""Spark's settings of a session."""

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
"""Limits of a batch that is sent between the JVM and a Python worker."""

AUTHENTICATE, SECRET = "spark.authenticate", "spark.authenticate.secret"
_SECRET = re.compile("secret|password|token|access[.]?key", re.IGNORECASE)
"""Names of settings that Spark itself does not show."""
_SITE_SERVICE = "spark.shuffle.service."
"""Prefix of settings of a site's shuffle service."""
_MAKES_SECRETS = ("yarn", "k8s:")
"""Prefixes of masters for which Spark makes a secret and distributes it to executors."""


def without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings without secrets, for a command line, which all accounts can read."""
    return {name: value for name, value in settings.items() if not _SECRET.search(name)}


def _authentication(settings: Settings) -> dict[str, str]:
    """Return settings with which driver and executors authenticate to each other.

    At the master of a site the site's settings apply: it has a secret, or none. With the user's
    `spark.authenticate=false` there are none.
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
    """Return Spark's settings: cuesta's, overridden by the user's.

    Arguments: `folder` is the session's own; `events` is where the event log is written. Errors:
    `InputError` for a folder whose path Spark cannot parse.
    """
    if "," in str(folder):
        raise InputError(
            f"{folder}: Spark takes a comma in it for two folders; give another --scratch"
        )
    # Quoted, since the path may have spaces.
    words = (f"-XX:ErrorFile={folder}/java-crash.log", f"-Djava.io.tmpdir={folder}")
    java_options = shlex.join(words)
    if not has_name():
        # The JVM takes the home from the account database; without it Ivy's folder is `?/.ivy2`.
        java_options += " " + shlex.quote(f"-Duser.home={folder}")
    chosen = dict(settings.options.spark)
    chosen_java_options = chosen.pop("spark.driver.extraJavaOptions", "")
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
        "spark.driver.extraJavaOptions": f"{java_options} {chosen_java_options}".strip(),
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
        # Duplicate rows must be detected before the other side's filter removes any.
        "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
        **place,
        **_authentication(settings),
        **_jar(settings.jar),
        **chosen,
    }


def _jar(path: str) -> dict[str, str]:
    """Return settings of the jar for driver and executors, with a fast serializer for RDDs."""
    if not path:
        return {}
    return {
        "spark.jars": path,
        "spark.driver.extraClassPath": path,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    }
