"""Comparison of the answers of a round, in a process of its own.

Readers such as PyArrow start threads, and may need much memory: neither stays in the process from
which programs start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.lab.child import run_in_child
from cuesta.programs.answers.differences import difference
from cuesta.programs.answers.digests import Summary, summary
from cuesta.programs.answers.formats import BYTES, kind_of
from cuesta.programs.answers.rules import Rules
from cuesta.programs.answers.tables import Form, UnreadableAnswer
from cuesta.programs.verdicts import DIFFERENT, EQUAL, REFERENCE, UNREADABLE, UNSTABLE, Case


@dataclass(frozen=True, kw_only=True)
class Written:
    """A case with the answer of its last run."""

    case: Case
    answer: Path


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The answer with which others are compared; no digest if it has another format."""

    answer: Path
    digest: str | None


@dataclass(frozen=True, kw_only=True)
class Question:
    """Answers of a round at one size, with the reference if there is one already."""

    written: Sequence[Written]
    reference: Reference | None
    form: Form
    rules: Rules


def judge(question: Question, scratch: Path) -> Reference | None:
    """Judge all cases by their answers; return the reference from now on.

    Without a reference it is the first answer that can be read.
    """
    results = _in_child(lambda: _verdicts(question), scratch)
    reference = question.reference
    for item, result in zip(question.written, results, strict=True):
        if result["verdict"] == REFERENCE and reference is None:
            reference = Reference(answer=item.answer, digest=result["digest"])
        _apply(item.case, result)
    return reference


def expected(answer: Path, form: Form, rules: Rules, scratch: Path) -> Reference:
    """Read an answer that is known to be right. Errors: `InputError`."""
    kind = kind_of(answer.name)
    if BYTES in (kind, form.kind):
        kind = form.kind

    def work() -> list[dict[str, Any]]:
        try:
            facts = summary(answer, replace(form, kind=kind), rules)
        except UnreadableAnswer as error:
            raise InputError(f"--expected {answer}: {error}") from None
        return [{"digest": facts.digest}]

    digest = _in_child(work, scratch)[0]["digest"]
    return Reference(answer=answer, digest=digest if kind == form.kind else None)


def _in_child(work: Callable[[], list[dict[str, Any]]], scratch: Path) -> list[dict[str, Any]]:
    file = scratch / "verdicts.json"

    def write() -> None:
        file.write_text(json.dumps(work()), encoding="utf-8")

    run_in_child("comparison of answers", write)
    results: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    file.unlink()
    return results


def _apply(case: Case, result: Mapping[str, Any]) -> None:
    case.digests.append(result.get("digest"))
    if case.summary is None:
        case.summary = result.get("summary")
    for sentence in result.get("remarks", ()):
        case.remarks[sentence] = None
    if result.get("difference"):
        case.difference = result["difference"]
    case.judge(result["verdict"], result.get("sentence", ""))


def _verdicts(question: Question) -> list[dict[str, Any]]:
    """The verdict about each answer, in order."""
    results: list[dict[str, Any]] = []
    reference = question.reference
    for item in question.written:
        try:
            facts = summary(item.answer, question.form, question.rules)
        except UnreadableAnswer as error:
            results.append({"verdict": UNREADABLE, "sentence": str(error)})
            continue
        except MemoryError:
            results.append({"verdict": UNREADABLE, "sentence": "its answer exceeds the memory"})
            continue
        result: dict[str, Any] = {"digest": facts.digest, "summary": asdict(facts)}
        if facts.rows == 0:
            result["remarks"] = ["its answer has no rows"]
        if reference is None:
            reference = Reference(answer=item.answer, digest=facts.digest)
            results.append({**result, "verdict": REFERENCE})
            continue
        results.append({**result, **_against(item, reference, facts, question)})
    return results


def _against(
    item: Written, reference: Reference, facts: Summary, question: Question
) -> dict[str, Any]:
    """Compare an answer with the reference."""
    case = item.case
    is_first = not case.digests
    equal = REFERENCE if case.verdict == REFERENCE else EQUAL
    if facts.digest == reference.digest or (not is_first and facts.digest == case.digests[0]):
        return {"verdict": equal}
    try:
        first = difference(item.answer, reference.answer, question.form, question.rules)
    except UnreadableAnswer as error:
        return {"verdict": UNREADABLE, "sentence": f"compared with the reference, {error}"}
    except MemoryError:
        return {"verdict": UNREADABLE, "sentence": "the comparison exceeds the memory"}
    if first is None:
        within = "its answer equals the reference within the tolerance, not digit by digit"
        return {"verdict": equal, "remarks": [within] if question.rules.tolerances else []}
    result = {"difference": asdict(first)}
    if not is_first:
        sentence = f"its answers differ from run to run: {first.sentence}"
        return {"verdict": UNSTABLE, "sentence": sentence, **result}
    return {"verdict": DIFFERENT, "sentence": first.sentence, **result}
