"""Run records made by hand with realistic numbers, so that reports need no engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "spec/formats/run-record.schema.json").read_text())

DIGEST = "04551f43b254d4d7d7c1c64212a7e447"
OTHER_DIGEST = "d154be8a7916d7292e901df7707d9aa7"
MEMORY = "memory_read_bytes_per_s"
WARM = "file_read_warm_bytes_per_s"
CEILINGS = {
    MEMORY: 21.4e9,
    "memory_copy_bytes_per_s": 9.8e9,
    WARM: 7.9e9,
    "file_read_direct_bytes_per_s": 1.1e9,
    "random_read_bytes_per_s": 48.0e6,
    "fma_f32_flops_per_s": 212.0e9,
}
FILTER = {
    "min_abs_score": 0.8,
    "max_abs_score": None,
    "score_index": 0,
    "min_cluster_samples": 30,
    "max_missing": None,
}
INPUT_BYTES = 1_073_804_121


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A repeat: phases by name with seconds, and the seconds that no phase covers."""

    phases: Mapping[str, float]
    other: float = 0.004

    @property
    def wall_seconds(self) -> float:
        return sum(self.phases.values()) + self.other


def phase(name: str, seconds: float) -> Record:
    """Return a phase; phases such as `scan` move the input and know their ceiling."""
    row: Record = {"name": name, "seconds": seconds}
    if name in ("start", "write", "collect", "open"):
        return row
    ceiling = MEMORY if name == "query" else WARM
    rate = INPUT_BYTES / seconds
    return row | {
        "bytes": INPUT_BYTES,
        "rows": 2_059_315,
        "ceiling": ceiling,
        "ceiling_per_s": CEILINGS[ceiling],
        "rate_per_s": rate,
        "fraction_of_ceiling": rate / CEILINGS[ceiling],
    }


def sample(timing: Timing, peak_bytes: int) -> Record:
    return {
        "wall_seconds": timing.wall_seconds,
        "cpu_seconds": timing.wall_seconds * 1.8,
        "peak_resident_bytes": peak_bytes,
        "resident_before_bytes": 31_000_000,
        "read_bytes": INPUT_BYTES,
        "written_bytes": 704_383,
        "device_read_bytes": 0,
        "device_written_bytes": 708_608,
        "load_average": 0.31,
        "phases": [phase(name, seconds) for name, seconds in timing.phases.items()],
    }


VERIFICATION_SECONDS = 0.31


def _time(timings: Sequence[Timing]) -> Record:
    durations = {
        "work_seconds": sum(timing.wall_seconds for timing in timings),
        "naming_seconds": 0.0,
        "verification_seconds": VERIFICATION_SECONDS,
        "disk_seconds": 0.012,
        "rest_seconds": 0.143,
    }
    return durations | {"as_typed_seconds": sum(durations.values())}


def record(engine: str, timings: Sequence[Timing], peak_bytes: int, **changes: Any) -> Record:
    """Return a record of `scan`, with the fields in `changes` replaced."""
    order = sorted(timings, key=lambda timing: timing.wall_seconds)
    median = order[(len(order) - 1) // 2]
    measures = sample(median, peak_bytes)
    totals = {
        name: value
        for name, value in measures.items()
        if name not in ("phases", "load_average", "resident_before_bytes")
    }
    fields: Record = {
        "schema": "cuesta.run/1",
        "workload": "scan",
        "engine": engine,
        "parameters": dict(FILTER),
        "inputs": [{"path": "data/clusters.475.txt", "bytes": INPUT_BYTES, "files": 1}],
        "threads": 2,
        "memory_bytes": 8 << 30,
        "seed": 0,
        "engine_options": {"master": "local[2]"} if engine == "spark" else {},
        "answer": {
            "digest": DIGEST,
            "counts": {"rows_read": 2_059_315, "rows_kept": 5_220, "answer_bytes": 704_383},
            "files": [{"name": "pairs.txt", "bytes": 704_383, "blake3": "5f" * 32}],
        },
        "verified": True,
        "verification": {
            "level": "full",
            "method": "every input line read with the standard library and digested",
            "expected": DIGEST,
            "fault": None,
            "seconds": VERIFICATION_SECONDS,
            "cpu_seconds": 0.61,
            "peak_resident_bytes": 40_000_000,
        },
        "time": _time(timings),
        "phases": measures["phases"],
        **totals,
        "cache": "as-is",
        "repeats": len(timings),
        "samples": [sample(timing, peak_bytes) for timing in timings],
        "statistics": {
            "wall_seconds": {
                "median": median.wall_seconds,
                "low": order[0].wall_seconds,
                "high": order[-1].wall_seconds,
                "confidence": 1 - 2.0 ** (1 - len(timings)),
            }
        },
        "ceilings": dict(CEILINGS),
        "machine": {
            "cpu": "Intel(R) Xeon(R) Platinum 8581C CPU @ 2.10GHz",
            "cores": 2,
            "cores_usable": 2,
            "memory_bytes": 25_276_502_016,
            "kernel": "Linux 6.1.0-32-amd64",
            "filesystems": {"input": "ext4", "output": "ext4"},
            "load_average": 0.31,
        },
        "versions": {"cuesta": "0.1.0", "python": "3.11.7"},
        "started": "2026-11-21T09:32:14Z",
        "command": ["cuesta", "compare", "scan", "data/clusters.475.txt", "--min-abs-score", "0.8",
                    "--min-cluster-samples", "30", "--engines", "native,spark,array",
                    "--repeat", "7", "-o", "answers/scan"],
        "preview": [HISTOGRAM, PAIRS],
    }  # fmt: skip
    return fields | changes


HISTOGRAM: Record = {
    "kind": "histogram",
    "title": "Scores of the pairs kept",
    "x": "score",
    "y": "pairs",
    "bins": [[-0.95, -0.9, 12], [-0.9, -0.85, 39], [-0.85, -0.8, 144]]
    + [[round(-0.8 + step / 20, 2), round(-0.75 + step / 20, 2), 0] for step in range(32)]
    + [[0.8, 0.85, 2714], [0.85, 0.9, 1563], [0.9, 0.95, 611], [0.95, 1.0, 137]],
}
PAIRS: Record = {
    "kind": "table",
    "title": "Strongest pairs",
    "columns": ["gene 1", "gene 2", "cluster", "score", "samples"],
    "rows": [["5931", "1188", "1", "0.998120", 461], ["4410", "402", "1", "0.997704", 475],
             ["3377", "3376", "2", "\u22120.994021", 88]],
}  # fmt: skip
DEGREES: Record = {
    "kind": "distribution",
    "title": "Degree distribution",
    "x": "edges of a gene",
    "y": "genes",
    "series": [
        {"name": "total", "points": [[k, max(1, round(2300 / k**1.7))] for k in range(1, 70)]
                                    + [[85, 1], [97, 2], [131, 1], [212, 1], [312, 1]]},
        {"name": "in", "points": [[k, max(1, round(1900 / k**1.9))] for k in range(1, 45)]},
        {"name": "out", "points": [[k, max(1, round(1700 / k**1.8))] for k in range(1, 50)]},
    ],
    "note": "1,443 genes have no edge.",
}  # fmt: skip
COMMUNITIES: Record = {
    "kind": "bars",
    "title": "Largest communities",
    "x": "genes",
    "items": [["community 1", 3811], ["community 17", 204], ["community 233", 31],
              ["community 90", 12], ["community 1024", 2]],
}  # fmt: skip


SPECTRUM: Record = {
    "kind": "histogram",
    "title": "How often 31-mers were seen",
    "x": "times seen",
    "y": "distinct k-mers",
    "bins": [[1, 2, 1_540_695], [2, 3, 50_684], [3, 4, 5_658]]
    + [[count, count + 1, round(52_700 * 2.718 ** (-((count - 17) ** 2) / 34), 3)]
       for count in range(4, 44)],
    "whole": True,
    "tight": True,
    "split": 4,
    "below": "taken for errors",
    "above": "taken for the genome's",
    "top": 60_650.4,
    "line": {"name": "fit: normal curve, deviation 4.1",
             "points": [[x, round(52_700 * 2.718 ** (-((x - 17.5) ** 2) / 34), 4)]
                        for x in range(2, 35)]},
    "marks": [{"text": "cutoff 4", "x": 4}, {"text": "peak 17.0", "x": 17.5}],
    "note": "The genome's k-mers were seen 17.0 times on average.",
}  # fmt: skip
LENGTHS: Record = {
    "kind": "histogram",
    "title": "Contigs, the longest first",
    "x": "bases, added up",
    "y": "bases of the contig",
    "bins": [[0, 3308, 3308], [3308, 5275, 1967], [5275, 7188, 1913], [7188, 8355, 1167]],
    "tight": True,
    "marks": [{"text": "N50 1,967", "x": 4177.5, "y": 1967}, {"text": "auN 2,374", "y": 2374}],
}


def timings(phases: Mapping[str, float], repeats: int, first_only: str = "") -> list[Timing]:
    """Return `repeats` repeats that differ a little; the phase `first_only` is in the first."""
    repeats_made = []
    for index in range(repeats):
        factor = 1 + 0.03 * ((index * 5) % 7 - 2) / 2
        repeat_phases = {name: seconds * factor for name, seconds in phases.items()
                if index == 0 or name != first_only}  # fmt: skip
        repeats_made.append(Timing(phases=repeat_phases))
    return repeats_made


def native(repeats: int = 7, **changes: Any) -> Record:
    times = timings({"open": 0.0003, "scan": 0.1641, "write": 0.0021}, repeats)
    return record("native", times, 41_203_712, **changes)


def spark(repeats: int = 7, **changes: Any) -> Record:
    times = timings({"start": 4.212, "scan": 2.114, "collect": 0.173}, repeats, "start")
    versions = {"cuesta": "0.1.0", "python": "3.11.7", "spark": "4.3.0", "java": "17.0.15"}
    return record("spark", times, 1_312_203_712, **({"versions": versions} | changes))


def array(repeats: int = 7, **changes: Any) -> Record:
    times = timings({"load": 21.7, "query": 0.412, "write": 0.031}, repeats)
    versions = {"cuesta": "0.1.0", "python": "3.11.7", "tiledb": "0.36.1"}
    return record("array", times, 812_203_712, **({"versions": versions} | changes))


def degrees(**changes: Any) -> Record:
    counts = {"edges": 41_220, "genes": 6_830, "genes_with_edges": 5_387, "largest_degree": 312,
              "rows_read": 2_059_315}  # fmt: skip
    times = timings({"open": 0.0004, "count": 0.1577, "write": 0.0009}, 1)
    defaults = {
        "workload": "degrees",
        "parameters": FILTER | {"genes": None, "min_cluster_samples": 0},
        "answer": {"digest": OTHER_DIGEST, "counts": counts, "files": []},
        "preview": [DEGREES],
    }
    return record("native", times, 42_203_712, **(defaults | changes))


def communities(**changes: Any) -> Record:
    counts = {"communities": 5, "edges": 41_220, "genes": 6_830, "genes_grouped": 4_060,
              "largest_community": 3_811, "rows_read": 2_059_315}  # fmt: skip
    times = timings({"open": 0.0004, "components": 0.1702, "write": 0.0009}, 7)
    defaults = {
        "workload": "communities",
        "parameters": FILTER | {"method": "components", "iterations": 10, "genes": None},
        "answer": {"digest": OTHER_DIGEST, "counts": counts, "files": []},
        "preview": [COMMUNITIES],
    }
    return record("native", times, 42_203_712, **(defaults | changes))


def assembly(**changes: Any) -> Record:
    counts = {"bases": 8_355, "contigs": 4, "kmers": 8_235, "largest": 3_308, "n50": 1_967,
              "unitigs": 17}  # fmt: skip
    times = timings({"partition": 0.139, "compact": 0.0489, "glue": 0.0007, "write": 0.0022}, 1)
    defaults = {
        "workload": "assemble",
        "parameters": {"kmer_sizes": None, "profile": "default", "pairs": True},
        "inputs": [{"path": f"data/ecoli_{mate}.fq.gz", "bytes": 2_091_457, "files": 1}
                   for mate in (1, 2)],
        "answer": {"digest": OTHER_DIGEST, "counts": counts, "files": []},
        "preview": [SPECTRUM, LENGTHS],
    }  # fmt: skip
    return record("native", times, 52_781_056, **(defaults | changes))


def write_run(folder: Path, run_record: Record) -> Path:
    """Write the record as `run.json` into an answer folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(run_record, indent=2), encoding="utf-8")
    return folder


def write_comparison(folder: Path, records: Sequence[Record]) -> Path:
    """Write an answer folder for each engine, and the `compare.json` that names them."""
    for run_record in records:
        write_run(folder / run_record["engine"], run_record)
    result = {
        "schema": "cuesta.compare/1",
        "workload": records[0]["workload"],
        "engines": [run_record["engine"] for run_record in records],
        "records": {
            run_record["engine"]: f"{run_record['engine']}/run.json" for run_record in records
        },
    }
    (folder / "compare.json").write_text(json.dumps(result), encoding="utf-8")
    return folder


MARKUP = "<script>alert('x')</script><img src=http://example.org/x onerror=alert(1)>"


def hostile() -> Record:
    """Return a record whose free texts are all mark-up or very long, with many phases."""
    times = timings(
        {f"{MARKUP[:12]}{index}{'x' * 40}": 0.01 * (index + 1) for index in range(30)}, 3
    )
    run_record = record(MARKUP + "y" * 200, times, 41_203_712)
    for index, phase_record in enumerate(run_record["phases"]):
        phase_record["ceiling"] = f"{MARKUP}{'z' * 60}{index}_bytes_per_s"
    run_record["inputs"][0]["path"] = f"/data/{MARKUP}/{'long' * 60}.txt"
    run_record["parameters"][MARKUP] = MARKUP
    run_record["engine_options"] = {MARKUP: "w" * 300}
    run_record["answer"]["counts"][MARKUP] = 2**62
    run_record["answer"]["files"] = [{"name": MARKUP + "v" * 100, "bytes": 5}]
    run_record["verification"]["method"] = MARKUP
    run_record["machine"]["cpu"] = "u" * 400
    run_record["versions"][MARKUP] = MARKUP
    run_record["command"] = ["cuesta", MARKUP, "t" * 500]
    run_record["preview"] = [
        HISTOGRAM | {"title": MARKUP, "x": MARKUP, "y": MARKUP, "note": MARKUP},
        SPECTRUM
        | {
            "below": MARKUP,
            "above": MARKUP,
            "split": 10**9,
            "top": -5,
            "line": {"name": MARKUP, "points": [[4, 10**14], [MARKUP, 1], [9, 2]]},
            "marks": [{"text": MARKUP, "x": x, "y": 10**x} for x in range(-1, 9)],
        },
        COMMUNITIES | {"items": [[MARKUP * 3, 5], ["s" * 300, 1_000_000]]},
        DEGREES | {"series": [{"name": MARKUP, "points": [[1, 1], [10**12, 10**15]]}]},
        PAIRS | {"columns": [MARKUP, "b"], "rows": [[MARKUP * 2, "r" * 200]]},
    ]
    return run_record
