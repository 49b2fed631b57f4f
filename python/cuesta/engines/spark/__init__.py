"""The engine `spark`: the Rust kernels inside the tasks of Apache Spark.

`engine` is what the lab calls. `session` starts and ends Spark with the Java that `java` finds.
`rounds` has the rounds of a workload done, `rounds_tasks` is what runs in Spark's tasks for them,
`hadoop` copies what only Spark can read, and `failures` turns a stack trace into one line.
"""

from cuesta.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
