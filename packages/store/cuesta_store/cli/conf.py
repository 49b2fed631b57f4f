"""`cuesta store spark-conf` and `hadoop-conf`."""

from __future__ import annotations

import typer


def spark_conf() -> None:
    """Print what Spark needs for cuesta:///, as lines of spark-defaults.conf.

    cuesta store spark-conf > spark.conf; spark-submit --properties-file spark.conf ...
    """
    from cuesta_store import control, hadoop_jar

    typer.echo("\n".join(hadoop_jar.spark_lines(control.default_folder())))


def hadoop_conf() -> None:
    """Print what Hadoop needs for cuesta:///, as a core-site.xml; its first line names the jar."""
    from cuesta_store import control, hadoop_jar

    typer.echo("\n".join(hadoop_jar.hadoop_lines(control.default_folder())))
