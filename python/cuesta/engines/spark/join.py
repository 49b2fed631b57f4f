"""`join`: Spark's own join on the packed key, sorted and turned into text by Spark too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuesta.engines.spark import source
from cuesta.engines.spark.answer import concatenate
from cuesta.engines.spark.context import Context
from cuesta.engines.spark.failures import marked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAIRS_FILE = "pairs.tsv"
HEADER = b"gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference\n"

_HOW = {"inner": "inner", "left": "left", "outer": "full"}

_KEY = """
(shiftleft(CAST(gene1 - 1 AS bigint), 40)
 | shiftleft(CAST(gene2 - 1 AS bigint), 16)
 | CAST(cluster - 1 AS bigint)) ^ shiftleft(1L, 63)"""
"""24, 24 and 16 bits that sort as (gene1, gene2, cluster); the sign bit is turned for that."""
_GENE1 = "shiftrightunsigned(key ^ shiftleft(1L, 63), 40) + 1"
_GENE2 = "(shiftright(key, 16) & 16777215L) + 1"
_CLUSTER = "(key & 65535L) + 1"


def run(context: Context) -> dict[str, int]:
    """Write `pairs.tsv`; return the counts."""
    from pyspark.sql import Observation, functions

    how = _HOW[str(context.trial.parameters.get("how", "inner"))]
    with context.phase("open"):
        versions = [
            source.open_source(context, (path,), "join", version)
            for version, path in zip("ab", context.trial.inputs, strict=True)
        ]
    left, right = (
        _scores(opened.rows, version) for version, opened in zip("ab", versions, strict=True)
    )
    observation = Observation()
    joined = left.join(right, "key", how).orderBy("key")
    joined = joined.observe(
        observation,
        functions.count("*").alias("rows"),
        functions.count("a").alias("left"),
        functions.count("b").alias("right"),
    )
    folder = context.output / "parts"
    with context.phase("join") as measure:
        measure.bytes = sum(opened.size_bytes for opened in versions)
        text = joined.selectExpr(f"{_text()} AS value")
        text.write.option("compression", "none").text(f"file://{folder}")
        read, kept, _ = context.counted()
        measure.rows = kept
    with context.phase("write") as measure:
        parts = sorted(folder.glob("part-*"), key=_number)
        measure.bytes = concatenate(context.output / PAIRS_FILE, HEADER, parts)
        for rest in folder.iterdir():
            rest.unlink()
        folder.rmdir()
    seen = observation.get
    both = seen["left"] + seen["right"] - seen["rows"]
    return {
        "rows_read": read,
        "rows_kept": kept,
        "both": both,
        "left_only": seen["left"] - both,
        "right_only": seen["right"] - both,
    }


def _scores(rows: DataFrame, version: str) -> DataFrame:
    """Key and score, the score named `version`; fails on a key that is there twice."""
    place = (
        f"' has gene pair ', {_GENE1}, ' ', {_GENE2}, ' cluster ', {_CLUSTER}, "
        "' twice; remove one of them'"
    )
    opening, closing = marked("|").split("|")
    refusal = f"concat('{opening}join: version {version}', {place}, '{closing}')"
    # The join needs the rows of a key together and sorted anyway, so the numbering is cheap.
    nth = "row_number() OVER (PARTITION BY key ORDER BY key)"
    keyed = rows.selectExpr(f"{_KEY} AS key", f"score AS {version}")
    numbered = keyed.selectExpr("key", version, f"{nth} AS nth")
    # A filter is evaluated for every row; a column only for those that the join lets through.
    return numbered.filter(f"IF(nth > 1, raise_error({refusal}), true)").select("key", version)


def _text() -> str:
    """A row of the answer as an expression."""
    side = "CASE WHEN a IS NULL THEN 'right' WHEN b IS NULL THEN 'left' ELSE 'both' END"
    difference = "CAST(b AS bigint) - CAST(a AS bigint)"
    numbers = [f"CAST({number} AS string)" for number in (_GENE1, _GENE2, _CLUSTER)]
    scores = [_decimal(score) for score in ("a", "b", difference)]
    return f"concat_ws('\\t', {', '.join([*numbers, side, *scores])})"


def _decimal(micro: str) -> str:
    """Millionths as text with six decimals; nothing for no score."""
    size = f"abs({micro})"
    return (
        f"coalesce(concat(IF({micro} < 0, '-', ''), CAST({size} DIV 1000000 AS string), '.', "
        f"lpad(CAST({size} % 1000000 AS string), 6, '0')), '')"
    )


def _number(part: object) -> int:
    """Number of a part file that Spark wrote, `part-00012-...`."""
    return int(str(part).rpartition("/")[2].split("-")[1])
