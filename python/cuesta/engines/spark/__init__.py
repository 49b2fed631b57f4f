"""The engine `spark`: the Rust kernels inside the tasks of Apache Spark.

`engine` is the interface to the lab. `session` starts and ends Spark with the Java that `java`
finds, from the `archive` of classes that `training` makes. `rounds` executes the rounds of a
workload, `rounds_tasks` is the code in Spark's tasks for them, `hadoop` copies inputs that only
Spark can read, and `failures` turns a stack trace into one line.
"""

from cuesta.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
