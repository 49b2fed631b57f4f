"""Say where the jars of Hadoop's daemons are, of the version of Spark's client.

    python tools/hadoop_daemons.py

They are those of the mini clusters of the test bed, which Maven gets once.
"""

from __future__ import annotations

import sys

import maven
import testbed_jvm
from spark_parts import SparkMissing


def main() -> int:
    """Print the folder of the jars; 3 when something is missing."""
    try:
        print(testbed_jvm.cluster_jars())
    except (SparkMissing, maven.MavenError) as error:
        print(f"hadoop_daemons: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
