"""Spark reads through `cuesta://` with the jar of the wheel alone."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import hadoopkit
from storekit import BLOCK_BYTES, running_store

ROWS = 50_000
SCRIPT = """
import json
from pyspark.sql import SparkSession
builder = SparkSession.builder.enableHiveSupport()
builder.config("spark.sql.hive.convertMetastoreParquet", "false")
builder.config("spark.sql.sources.partitionOverwriteMode", "dynamic")
spark = builder.getOrCreate()

def show(name, table):
    rows = table.groupBy("key").sum("value").collect()
    print(json.dumps([name, sorted(tuple(row) for row in rows)]))

table = spark.read.parquet("cuesta:///tables/parquet")
show("parquet", table)
show("orc", spark.read.orc("cuesta:///tables/orc"))
show("csv", spark.read.schema("key long, value long").csv("cuesta:///tables/csv"))
for version in ("1", "2"):
    option = "mapreduce.fileoutputcommitter.algorithm.version"
    out = f"cuesta:///out/v{version}"
    writer = table.write.option(option, version).partitionBy("key")
    writer.parquet(out)
    part = table.where("key = 3").selectExpr("key", "value + 1 as value")
    part.write.option(option, version).partitionBy("key").mode("overwrite").parquet(out)
    show("v" + version, spark.read.parquet(out))
spark.sql("CREATE TABLE kept (key BIGINT, value BIGINT) STORED AS PARQUET "
          "LOCATION 'cuesta:///hive/kept'")
for more in (1, 0):
    table.selectExpr("key", f"value + {more} as value").createOrReplaceTempView("source")
    spark.sql("INSERT OVERWRITE TABLE kept SELECT * FROM source")
show("hive", spark.table("kept"))
"""


@pytest.mark.timeout(300)
def test_spark_reads_and_writes_tables(tmp_path: Path) -> None:
    hadoopkit.needs_spark()
    under = tmp_path / "under"
    make_tables(under)
    with running_store(under, blocks=1024) as store:
        output = hadoopkit.submit(store, SCRIPT, tmp_path)
        tables = dict(json.loads(line) for line in output.splitlines() if line.startswith("["))
        expected = [[key, sum(range(key, ROWS, 7))] for key in range(7)]
        changed = [[key, total + (key == 3) * len(range(3, ROWS, 7))] for key, total in expected]
        names = ("parquet", "orc", "csv", "hive")
        assert tables == dict.fromkeys(names, expected) | dict.fromkeys(("v1", "v2"), changed)
        status = store.status()
        sizes = [file.stat().st_size for file in (under / "tables").rglob("*.*")]
        assert status["misses"] + status["hits"] >= sum(-(-size // BLOCK_BYTES) for size in sizes)
        # Nothing is held after the end of the reader.
        assert status["leases"] == 0
    # Neither staging folders nor hidden files remain.
    left = {
        file.name for file in under.rglob("*") if "staging" in file.name or "-part" in file.name
    }
    assert not {name for name in left if not name.startswith("part-")}
    assert sorted(file.name for file in (under / "out/v1").iterdir())[1] == "key=0"


def make_tables(under: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.orc
    import pyarrow.parquet

    table = pa.table({"key": [i % 7 for i in range(ROWS)], "value": list(range(ROWS))})
    for kind in ("parquet", "orc", "csv"):
        (under / "tables" / kind).mkdir(parents=True)
    for part in range(2):
        half = table.slice(part * ROWS // 2, ROWS // 2)
        pa.parquet.write_table(half, under / f"tables/parquet/{part}.parquet")
        pa.orc.write_table(half, str(under / f"tables/orc/{part}.orc"))
        options = pa.csv.WriteOptions(include_header=False)
        pa.csv.write_csv(half, under / f"tables/csv/{part}.csv", options)


def test_hadoop_conf_is_a_configuration_that_names_the_jar(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    with running_store(tmp_path) as store:
        output = hadoopkit.cuesta(store, "store", "hadoop-conf")
        first, rest = output.split("\n", 1)
        jar = Path(first.split("HADOOP_CLASSPATH=")[1].split(" ")[0])
        assert jar.is_file()
        pairs = {element[0].text: element[1].text for element in ET.fromstring(rest)}
        assert pairs["fs.cuesta.store"] == str(store.folder)
        assert pairs["fs.cuesta.impl"] == "cuesta.hadoop.CuestaFileSystem"
