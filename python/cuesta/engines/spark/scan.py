"""`scan`: each task writes the lines that pass to a file; the files are put together in order."""

from __future__ import annotations

from functools import partial

from cuesta.engines.spark import executor, hadoop
from cuesta.engines.spark.answer import concatenate
from cuesta.engines.spark.context import Context
from cuesta.engines.spark.executor import PART_SCHEMA, Reading, part_name
from cuesta.engines.spark.plan import make_plan, numbers
from cuesta.engines.spark.source import are_remote

PAIRS_FILE = "pairs.txt"


def run(context: Context) -> dict[str, int]:
    """Write `pairs.txt`; return the counts."""
    folder = context.output / "parts"
    folder.mkdir()
    inputs = context.trial.inputs
    if are_remote(inputs):
        names, files_skipped = hadoop.scan(context, folder), 0
    else:
        with context.phase("open"):
            plan = make_plan(context, inputs, "scan")
        reading = Reading(kind="scan", parameters=plan.parameters, version="", tally=context.tally)
        function = partial(executor.scan, reading, plan.tasks, str(folder))
        with context.phase("scan", ceiling="file_read_warm_bytes_per_s") as measure:
            measure.bytes = plan.size_bytes
            rows = context.session.map_arrow(numbers(context, plan), function, PART_SCHEMA)
            written = rows.toArrow()
            measure.rows = context.counted()[0]
        names = [part_name(task) for task in sorted(written.column("task").to_pylist())]
        files_skipped = plan.files_skipped
    with context.phase("write") as measure:
        parts = [folder / name for name in names]
        measure.bytes = concatenate(context.output / PAIRS_FILE, b"", parts)
        folder.rmdir()
    read, kept, _ = context.counted()
    return {
        "rows_read": read,
        "rows_kept": kept,
        "files_skipped": files_skipped,
        "answer_bytes": measure.bytes,
    }
