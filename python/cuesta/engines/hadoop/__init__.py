"""Rounds as jobs of Hadoop's MapReduce: in one JVM of this machine, or on the YARN of a site.

`engine` has the engine, `jobs` the JVM that submits jobs, `settings` the settings of a job, `child`
the child process of a task, which exchanges Hadoop's `typed_bytes` with it, and `examples` Hadoop's
TeraSort for comparison.
"""

from cuesta.engines.hadoop.engine import HadoopEngine

__all__ = ["HadoopEngine"]
