"""Hadoop's own TeraSort, as a user starts it on a YARN with the settings of a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = "org.apache.hadoop:hadoop-mapreduce-examples:3.3.6"
"""The newest version that Maven Central has; it runs on newer clusters."""
MAIN = "org.apache.hadoop.examples.terasort.TeraSort"
SPLIT_BYTES = 128 << 20
REDUCES = 2
HEAP_MIB = 1024
"""Heap of a task: with less, it spills more than once."""
ERROR_CHARACTERS = 2000


def missing() -> str | None:
    """Why it cannot run, or None."""
    sys.path.append(str(ROOT / "tools"))
    import testbed_yarn

    return testbed_yarn.missing()


def sort(conf: Path, source: str, target: str) -> None:
    """Sort the records at a URI into a new folder there. Errors: `RuntimeError` with its output."""
    sys.path.append(str(ROOT / "tools"))
    import maven
    import spark_parts
    import testbed_jvm

    # Its artifact names its dependencies, but a cluster has them in its own version.
    examples = next(maven.jars("terasort", [EXAMPLES]).glob("hadoop-mapreduce-examples-*.jar"))
    classes = [conf, examples, testbed_jvm.cluster_jars() / "*"]
    settings = {
        "mapreduce.job.reduces": REDUCES,
        "mapreduce.input.fileinputformat.split.minsize": SPLIT_BYTES,
        "mapreduce.map.memory.mb": HEAP_MIB * 5 // 4,
        "mapreduce.reduce.memory.mb": HEAP_MIB * 5 // 4,
        "mapreduce.map.java.opts": f"-Xmx{HEAP_MIB}m",
        "mapreduce.reduce.java.opts": f"-Xmx{HEAP_MIB}m",
        # A whole split, and its index.
        "mapreduce.task.io.sort.mb": 400,
        "yarn.app.mapreduce.am.resource.mb": 512,
        "yarn.app.mapreduce.am.command-opts": "-Xmx384m",
        "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": 200,
    }
    words = [f"-D{name}={value}" for name, value in settings.items()]
    java = str(spark_parts.java_home() / "bin" / "java")
    done = subprocess.run(
        [
            *(java, "-Xmx256m", "-cp", os.pathsep.join(map(str, classes)), MAIN, *words),
            *(source, target),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"TeraSort: code {done.returncode}: {done.stderr[-ERROR_CHARACTERS:]}")
