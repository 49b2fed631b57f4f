"""The science of the demo with an installed Cuesta: run by the Python that has it, offline.

    python science.py DATA FOLDER

DATA has the files of the datasets `nci60` and `ecoli`. A gene network is made of tumour data, three
questions are put to it, a genome is assembled from its reads, and a report shows all answers. Each
answer has to be verified. Imports Python's library alone, so that a bare system can run it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

CUESTA = Path(sys.executable).with_name("cuesta")
CORRELATE_AT, ASK_AT = "0.4", "0.7"
QUESTIONS = ("scan", "degrees", "communities")


def main(arguments: Sequence[str]) -> int:
    """Run all steps; 1 where an answer is not verified, or the code of a step that failed."""
    data, folder = map(Path, arguments)
    began = time.monotonic()
    try:
        answers = science(data, folder)
    except subprocess.CalledProcessError as error:
        words = " ".join(map(str, error.cmd))
        print(f"science: `{words}` ended with code {error.returncode}", file=sys.stderr)
        return error.returncode
    wrong = [answer.name for answer in answers if not is_verified(answer)]
    size_bytes = (folder / "report.html").stat().st_size
    seconds = time.monotonic() - began
    print(
        f"science: {len(answers)} answers, not verified: {', '.join(wrong) or 'none'}, "
        f"a report of {size_bytes / 1e6:.1f} MB, {seconds:.1f} s"
    )
    return int(bool(wrong))


def science(data: Path, folder: Path) -> list[Path]:
    """Run all steps; return the folders of the answers."""
    cuesta("--version")
    cuesta("doctor")
    correlate = folder / "correlate"
    matrix = str(data / "nci60.gem.txt")
    cuesta("run", "correlate", matrix, "--min-abs-score", CORRELATE_AT, "-o", str(correlate))
    answers = [correlate]
    for question in QUESTIONS:
        answer = folder / question
        pairs = str(correlate / "pairs.txt")
        cuesta("run", question, pairs, "--min-abs-score", ASK_AT, "-o", str(answer))
        answers.append(answer)
    contigs = folder / "assemble"
    reads = [str(data / f"ecoli_{mate}.fq.gz") for mate in (1, 2)]
    cuesta("run", "assemble", *reads, "--pairs", "-o", str(contigs))
    answers.append(contigs)
    cuesta("report", *map(str, answers), "-o", str(folder / "report.html"))
    return answers


def is_verified(answer: Path) -> bool:
    """Whether another method confirmed an answer."""
    record = json.loads((answer / "run.json").read_text(encoding="utf-8"))
    return record["verified"] is True


def cuesta(*words: str) -> None:
    """Run a command, with its output."""
    subprocess.run([str(CUESTA), *words], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
