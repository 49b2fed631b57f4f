"""The engine `spark`: the Rust kernels inside the tasks of Apache Spark.

`engine` is what the lab calls. `session` starts and ends Spark with the Java that `java` finds.
`plan` cuts local files into tasks, `executor` is what runs in them, `hadoop` reads what only Spark
can. `scan`, `join`, `degrees` and `communities` are the workloads, `answer` writes their files, and
`failures` turns a stack trace into one line.
"""

from cuesta.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
