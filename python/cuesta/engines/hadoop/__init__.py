"""Rounds as jobs of Hadoop's MapReduce: in one JVM of this machine, or on the YARN of a site.

`engine` has the engine, `jobs` the JVM that submits jobs, `settings` what a job is told, `child`
what its tasks start, which talks to them in Hadoop's `typed_bytes`, and `examples` Hadoop's own
TeraSort beside them.
"""

from cuesta.engines.hadoop.engine import HadoopEngine

__all__ = ["HadoopEngine"]
