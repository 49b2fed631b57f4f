"""Sentences about a comparison of programs, for its page and for a terminal.

Everything is taken from the record, which others may have written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cuesta import numerals as n
from cuesta.report.records import mapping, number, objects, text

TIMED = ("reference", "equal")
WRONG = ("different", "unstable")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Times of a program whose answer is equal, at one size."""

    name: str
    median: float
    low: float
    high: float
    confidence: float
    samples: tuple[float, ...]


def sizes(record: object) -> list[str]:
    """The sizes of the input, in rising order."""
    known = mapping(mapping(record).get("comparison")).get("sizes")
    return [text(size) for size in known] if isinstance(known, list) else []


def case_of(program: object, size: str) -> dict[str, Any]:
    """The case of a program at a size."""
    cases = objects(mapping(program).get("cases"))
    return dict(next((case for case in cases if text(case.get("size")) == size), {}))


def timings(record: object, size: str) -> list[Timing]:
    """Times of all programs with an equal answer at a size, in the order of the record."""
    result = []
    for program in objects(mapping(record).get("programs")):
        case = case_of(program, size)
        wall = mapping(mapping(case.get("statistics")).get("wall_seconds"))
        median = number(wall.get("median"))
        if case.get("verdict") not in TIMED or median is None:
            continue
        walls = [number(run.get("wall_seconds")) for run in objects(case.get("runs"))]
        result.append(
            Timing(
                name=text(program.get("name")),
                median=median,
                low=number(wall.get("low")) or median,
                high=number(wall.get("high")) or median,
                confidence=number(wall.get("confidence")) or 0.0,
                samples=tuple(wall for wall in walls if wall is not None),
            )
        )
    return result


def ratio_text(record: object, name: str, case: object) -> str:
    """Time of a program as a multiple of that of the fastest, at the size of a case."""
    known = {timing.name: timing for timing in timings(record, text(mapping(case).get("size")))}
    if name not in known or len(known) < 2:
        return ""
    best = min(timing.median for timing in known.values())
    if known[name].median == best:
        return f"1{n.TIMES}"
    return n.ratio(known[name].median / best) if best else ""


def lead(record: object) -> Iterator[str]:
    """Sentences that answer what was compared and which program is the fastest."""
    yield agreement(record)
    known = sizes(record)
    for size in reversed(known):
        sentence = fastest(timings(record, size))
        if sentence:
            several = len(known) > 1
            yield f"At {size_words(size)}: {sentence}" if several else sentence


def agreement(record: object) -> str:
    """Number of equal answers, and the answers that they equal."""
    fields = mapping(record)
    programs = objects(fields.get("programs"))
    names = [text(program.get("name")) for program in programs]
    known = sizes(record)
    good = [
        name
        for name, program in zip(names, programs, strict=True)
        if all(case_of(program, size).get("verdict") in TIMED for size in known)
    ]
    comparison = mapping(fields.get("comparison"))
    expected = text(comparison.get("expected"))
    if len(good) == len(names):
        empty = ", but have no rows" if doubt(record) else ""
        if expected:
            return f"All answers equal the expected one: {n.listed(names)}{empty}."
        return f"The answers of {n.listed(names)} are equal{empty}."
    bad = [name for name in names if name not in good]
    if not good:
        return f"No program gave an answer that can be compared: {n.listed(bad)}."
    if len(good) == 1 and not expected:
        only = f"No answer equals that of {good[0]}"
    else:
        only = f"Equal: {n.listed(good)}"
    return f"{only}; not so: {n.listed(bad)}, without a time."


def doubt(record: object) -> str:
    """The reason why equal answers show little: at the largest size, none has a row; or empty."""
    largest = sizes(record)[-1:]
    programs = objects(mapping(record).get("programs"))
    answers = [case_of(program, size) for size in largest for program in programs]
    timed = [answer for answer in answers if answer.get("verdict") in TIMED]
    rows = [number(mapping(answer.get("summary")).get("rows")) for answer in timed]
    if not rows or any(count != 0 for count in rows):
        return ""
    return "Doubtful: no answer has rows, so programs that fail may agree; check their input."


def fastest(times: Sequence[Timing]) -> str:
    """The fastest program, where the intervals of the times decide."""
    if len(times) < 2:
        return ""
    ordered = sorted(times, key=lambda timing: timing.median)
    best, second = ordered[0], ordered[1]
    if min(len(timing.samples) for timing in times) < 2:
        return (
            f"{best.name} took {n.duration(best.median)}, {second.name} "
            f"{n.duration(second.median)}; one run each tells no difference, give --repeats 6."
        )
    if best.high >= second.low:
        equal = [timing.name for timing in ordered if timing.low <= best.high]
        return (
            f"No difference can be told between {n.listed(equal)}: the intervals of their times "
            "overlap; more --repeats may tell."
        )
    factor = second.median / best.median if best.median else 0.0
    low, high = second.low / best.high, second.high / best.low if best.low else 0.0
    return (
        f"{best.name} is the fastest: {n.duration(best.median)}, where {second.name} takes "
        f"{n.duration(second.median)}, {n.ratio(factor)} as long "
        f"(between {n.ratio(low)} and {n.ratio(high)})."
    )


def size_words(size: str) -> str:
    """A size of the input in words."""
    return "the complete input" if size == "1" else f"{size} of the input"


def where(name: str, size: str, *, several: bool) -> str:
    """A program, and its size where there are several."""
    return f"{name} at {size_words(size)}" if several else name
