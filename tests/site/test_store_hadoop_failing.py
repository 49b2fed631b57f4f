"""A failing Spark job leaves no file in the store, as it leaves none in local files.

`CUESTA_TRIALS=200` runs it: a soak, whose single steps `StoreDefectTest` has.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from hadoopkit import needs_spark, submit
from storekit import running_store

TRIALS = int(os.environ.get("CUESTA_TRIALS", "0"))
FINDING = re.compile(r"left |trial \d+ (did not fail|failed otherwise)")

SCRIPT = """
import faulthandler, os, random, signal, subprocess, sys, time
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, udf
from pyspark.sql.types import LongType

root, trials, kind, under = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
draw = random.Random(7)

def stacks():
    # The program of a `spark-submit` is a child of its JVM, which answers `jcmd`.
    with open("stacks.txt", "ab", buffering=0) as to:
        jcmd = os.path.join(os.environ["JAVA_HOME"], "bin", "jcmd")
        words = [jcmd, str(os.getppid()), "Thread.print"]
        try:
            subprocess.run(words, stdout=to, stderr=to, check=False)
        except OSError as error:
            to.write(str(error).encode())
        faulthandler.dump_traceback(to)

def left():
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(under)
                  for name in names)

def alarm(*_):
    stacks()
    raise TimeoutError("a job of Spark does not end")

signal.signal(signal.SIGALRM, alarm)
for trial in range(trials):
    bad, seconds = draw.randrange(6), draw.uniform(0, 0.05)

    def work(number):
        time.sleep(seconds / 10)
        if number % 60 == 30 and number // 60 == bad:
            raise ValueError("this job fails")
        return number

    frame = spark.range(0, 360, 1, 6).select(udf(work, LongType())(col("id")).alias("v"))
    frame = frame.withColumn("part", col("v") % 3)
    target = f"{root}/out-{trial}"
    writer = frame.write.mode("overwrite")
    if kind == "dynamic":
        writer = writer.option("partitionOverwriteMode", "dynamic").partitionBy("part")
    signal.alarm(240)
    began = time.monotonic()
    try:
        writer.parquet(target)
        print("trial", trial, "did not fail")
    except Exception as error:
        if "this job fails" not in str(error):
            print("trial", trial, "failed otherwise:", str(error).splitlines()[0][:200])
    finally:
        signal.alarm(0)
        print(f"trial {trial}: {time.monotonic() - began:.2f} s", file=sys.stderr, flush=True)
# Tasks that were cancelled end a moment later.
deadline = time.monotonic() + 20
while spark.sparkContext.statusTracker().getActiveJobsIds() and time.monotonic() < deadline:
    time.sleep(0.05)
spark.stop()
for name in left():
    print("left", name)
print("trials", trials)
"""


@pytest.mark.skipif(TRIALS == 0, reason="a soak, with CUESTA_TRIALS=200")
@pytest.mark.timeout(600 + 60 * TRIALS)
@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_a_failing_job_leaves_nothing(tmp_path: Path, kind: str) -> None:
    needs_spark()
    under = tmp_path / "under"
    under.mkdir()
    with running_store(under, blocks=256, write=os.environ.get("CUESTA_WRITE", "through")) as store:
        words = [os.environ.get("CUESTA_ROOT", "cuesta:///work"), str(TRIALS), kind, str(under)]
        output = submit(store, SCRIPT, tmp_path, *words).splitlines()
    stacks = tmp_path / "stacks.txt"
    assert not stacks.exists(), stacks.read_text()
    # The times of the trials and the warnings of PySpark are among the lines.
    assert [line for line in output if FINDING.match(line)] == []
    assert f"trials {TRIALS}" in output
