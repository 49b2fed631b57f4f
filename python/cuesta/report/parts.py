"""The measured parts of a section: comparison, where the time went, ceilings, memory and bytes."""

from __future__ import annotations

from cuesta import numerals as n
from cuesta.report import scales, shapes, svg, tables
from cuesta.report.blocks import Block, Figure, Fold, Key, Part
from cuesta.report.findings import (
    CEILING_SLACK,
    OTHER,
    Finding,
    bounding_phase,
    spans,
    spans_seconds,
)
from cuesta.report.records import SETUP_PHASES, Group, Phase, Run
from cuesta.report.words import ceiling_ability, ceiling_name, level, limits

PHASES_MAX = 6
"""Most phases with a colour of their own; the shortest of more are drawn together."""

SAMPLES_DRAWN_MAX = 40
SHARES_RATIO = 8.0
"""Ratio of complete times from which phases are drawn as shares too."""

_SETUP_TONES = {"start": "p0", "load": "p7"}


def comparison(identifier: str, group: Group, finding: Finding) -> Part:
    """Times of all engines, as bars with intervals and as a table."""
    blocks: list[Block] = [tables.times(group, finding)]
    several = len(group.runs) > 1
    if several or len(group.first.samples) > 1:
        blocks.insert(0, _time_bars(f"{identifier}-time", group, finding))
    aside = "Time of the work alone. Starting a session and loading an array come in the next part."
    title = "The comparison" if several else "How long it took"
    shown = (aside,) if _has_setup(group) else ()
    return Part(title=title, aside=(*shown, *level(finding)), blocks=tuple(blocks))


def where_time_went(identifier: str, group: Group) -> Part:
    """Stacked phases of the representative run of every engine, with start-up apart.

    Where one engine takes many times as long as another, its bars would leave nothing to see of
    the other: then the same phases are also drawn as shares of each engine's own time.
    """
    wholes = [spans_seconds(run) for run in group.runs]
    unit, seconds = n.time_unit(max(wholes))
    blocks: list[Block] = [_phase_bars(f"{identifier}-phases", group, unit, seconds)]
    if min(wholes) > 0 and max(wholes) / min(wholes) > SHARES_RATIO:
        blocks.append(_phase_bars(f"{identifier}-shares", group, "%", 0.0))
    blocks += _typed_bars(f"{identifier}-typed", group)
    blocks.append(Fold(summary="Every phase in numbers", block=tables.phases(group)))
    aside = ["From nothing to the answer, in the order things happened."]
    if _has_setup(group):
        aside.append("Dark grey is preparation, starting a session or loading an array.")
    return Part(title="Where the time went", aside=tuple(aside), blocks=tuple(blocks))


def ceilings(identifier: str, group: Group, finding: Finding) -> Part | None:
    """Every compared phase against its ceiling; None when none is compared."""
    rows: list[svg.Bullet] = []
    for label, run in group.named():
        bound = bounding_phase(run)
        rows += [
            _bullet(label, phase, phase is bound and run is finding.best)
            for phase in run.phases
            if phase.fraction is not None
        ]
    if not rows:
        return None
    described = "; ".join(f"{row.label}: {row.text}, {row.detail}" for row in rows)
    frame = shapes.Frame(
        identifier=f"{identifier}-ceilings",
        title="Distance from the ceiling",
        description=described,
    )
    caption = "The upright line is the ceiling, measured on this machine; the dashed one is half."
    figure = Figure(svg=svg.bullets(frame, rows), caption=caption)
    aside = ["A ceiling is the most this machine was seen to do when it does nothing else."]
    aside += limits(finding.best_label, finding.best, finding.bound)
    return Part(title="How far from the ceiling", aside=tuple(aside), blocks=(figure,))


def memory_and_bytes(identifier: str, group: Group, finding: Finding) -> Part:
    """Peak memory as bars; memory, processor time and bytes as a table."""
    peaks = [run.number("peak_resident_bytes") or 0.0 for run in group.runs]
    blocks: list[Block] = []
    if len(group.runs) > 1 and max(peaks) > 0:
        unit, size = n.size_unit(max(peaks))
        axis = scales.for_bars([peak / size for peak in peaks], n.terse)
        rows = [
            svg.Bar(label=label, text=n.size(peak), value=peak / size,
                    tone="best" if run is finding.best else "other")
            for (label, run), peak in zip(group.named(), peaks, strict=True)
        ]  # fmt: skip
        frame = shapes.Frame(
            identifier=f"{identifier}-memory",
            title="Peak memory",
            description="; ".join(f"{row.label}: {row.text}" for row in rows),
        )
        caption = "Logarithmic scale." if axis.log else ""
        blocks.append(
            Figure(svg=svg.bars(frame, rows, axis, unit), heading="Peak memory", caption=caption)
        )
    blocks.append(tables.memory_and_bytes(group, finding))
    aside = (
        "Resident memory at its highest, over all processes of a run. “Read” and “written” went "
        "through system calls; “device” is what reached a disk.",
    )
    return Part(title="Memory and bytes", aside=aside, blocks=tuple(blocks))


def _time_bars(identifier: str, group: Group, finding: Finding) -> Figure:
    highest = [max(run.work.high, run.work.median) for run in group.runs]
    unit, seconds = n.time_unit(max(highest))
    lowest = [run.work.low for run in group.runs]
    axis = scales.for_bars([value / seconds for value in (*highest, *lowest)], n.terse)
    rows = []
    for label, run in group.named():
        several = len(run.samples) > 1
        samples = [sample.work_seconds / seconds for sample in run.samples]
        rows.append(
            svg.Bar(
                label=label,
                text=n.duration(run.work.median),
                value=run.work.median / seconds,
                low=run.work.low / seconds if several else None,
                high=run.work.high / seconds if several else None,
                samples=tuple(samples) if 1 < len(samples) <= SAMPLES_DRAWN_MAX else (),
                tone=_tone(run, finding),
            )
        )
    described = "; ".join(f"{row.label} {row.text}" for row in rows)
    frame = shapes.Frame(identifier=identifier, title="Time of the work", description=described)
    caption = "Logarithmic scale: equal distances are equal ratios. " * axis.log
    if any(row.low is not None for row in rows):
        caption += (
            "A bar ends at the median. The line across its end is the interval that holds the true "
            "median, with the confidence in the table; the strokes below are the samples."
        )
    return Figure(svg=svg.bars(frame, rows, axis, unit), caption=caption)


def _has_setup(group: Group) -> bool:
    return any(run.setup_seconds(name) > 0 for run in group.runs for name in SETUP_PHASES)


def _phase_bars(identifier: str, group: Group, unit: str, unit_seconds: float) -> Figure:
    """Stacked bars in `unit_seconds`, or, where that is 0, in per cent of each whole time."""
    tones = _tones(group)
    rows = [_stack(label, run, tones, unit_seconds) for label, run in group.named()]
    lengths = [sum(segment.value for segment in row.segments) for row in rows]
    axis = scales.linear(max(lengths) if unit_seconds else 100.0, n.terse)
    described = "; ".join(
        f"{row.label} {row.text}: {', '.join(f'{s.name} {s.text}' for s in row.segments)}"
        for row in rows
    )
    shares = not unit_seconds
    title = "Shares of each engine's own time" if shares else "Where the time went"
    frame = shapes.Frame(identifier=identifier, title=title, description=described)
    drawn = {segment.name: segment.tone for row in rows for segment in row.segments}
    keys = tuple(Key(tone=drawn[name], text=name) for name in tones if name in drawn)
    caption = (
        "Every bar is the whole time of one engine: its parts compare, its length does not."
        if shares
        else "Phases of the run with the median time; they do not overlap. What no phase covers "
        "is “other”."
    )
    return Figure(
        svg=svg.stacked(frame, rows, axis, unit),
        heading=title if shares else "",
        keys=() if shares else keys,
        caption=caption,
    )


_TYPED = (
    *_SETUP_TONES.items(),
    ("work", "p1"),
    ("names and graph", "p4"),
    ("verification", "p2"),
    ("waiting for the disk", "p3"),
    (OTHER, "p8"),
)
"""Parts of a command's time, and their colours."""


def _typed_bars(identifier: str, group: Group) -> list[Block]:
    """The complete command of all engines as typed; none where it was not measured."""
    measured = [(label, run.typed) for label, run in group.named() if run.typed is not None]
    if not measured:
        return []
    longest = max(typed.seconds for _, typed in measured)
    unit, unit_seconds = n.time_unit(longest)
    rows = []
    for label, typed in measured:
        part_seconds = (typed.start_seconds, typed.load_seconds, typed.work_seconds,
                 typed.naming_seconds, typed.verification_seconds, typed.disk_seconds,
                 typed.rest_seconds)  # fmt: skip
        segments = [
            _segment(name, seconds, tone, unit_seconds)
            for (name, tone), seconds in zip(_TYPED, part_seconds, strict=True)
            if seconds > 0
        ]
        text = n.duration(typed.seconds)
        rows.append(svg.Stack(label=label, text=text, segments=tuple(segments)))
    title = "The whole command, as typed"
    described = "; ".join(
        f"{row.label} {row.text}: {', '.join(f'{s.name} {s.text}' for s in row.segments)}"
        for row in rows
    )
    frame = shapes.Frame(identifier=identifier, title=title, description=described)
    drawn = {segment.name for row in rows for segment in row.segments}
    return [
        Figure(
            svg=svg.stacked(frame, rows, scales.linear(longest / unit_seconds, n.terse), unit),
            heading=title,
            keys=tuple(Key(tone=tone, text=name) for name, tone in _TYPED if name in drawn),
            caption="From the start of the process to its record, of a command that runs it once. "
            "“Other” is starting Python, looking at the inputs and the record.",
        )
    ]


def _tones(group: Group) -> dict[str, str]:
    """The colour of every phase, in the order of the legend: preparation, work, the rest.

    The longest phases of any engine get colours of their own; the others count as `other`.
    """
    seconds: dict[str, float] = {}
    for run in group.runs:
        for name, spent in spans(run).items():
            if name not in _SETUP_TONES and name != OTHER:
                seconds[name] = max(seconds.get(name, 0.0), spent)
    longest = sorted(seconds, key=lambda name: -seconds[name])[:PHASES_MAX]
    colours = {name: f"p{longest.index(name) + 1}" for name in seconds if name in longest}
    return {**_SETUP_TONES, **colours, OTHER: "p8"}


def _stack(label: str, run: Run, tones: dict[str, str], unit_seconds: float) -> svg.Stack:
    total = spans_seconds(run)
    unit = unit_seconds or total / 100 or 1.0
    segments: list[svg.Segment] = []
    rest = 0.0
    for name, seconds in spans(run).items():
        if name == OTHER or name not in tones:
            rest += seconds
        elif seconds > 0:
            segments.append(_segment(name, seconds, tones[name], unit))
    if rest > 0:
        segments.append(_segment(OTHER, rest, tones[OTHER], unit))
    return svg.Stack(label=label, text=n.duration(total), segments=tuple(segments))


def _segment(name: str, seconds: float, tone: str, unit_seconds: float) -> svg.Segment:
    return svg.Segment(name=name, text=n.duration(seconds), value=seconds / unit_seconds, tone=tone)


def _bullet(label: str, phase: Phase, bounding: bool) -> svg.Bullet:
    share = phase.fraction or 0.0
    detail = f"ceiling: {ceiling_ability(phase.ceiling)}"
    if phase.rate_per_s is not None and phase.ceiling_per_s is not None:
        measured = n.rate(phase.rate_per_s, phase.unit)
        most = n.rate(phase.ceiling_per_s, phase.unit)
        detail = f"{measured} of {most}, {ceiling_name(phase.ceiling)}"
    tone = "bad" if share > CEILING_SLACK else "best" if bounding else "other"
    return svg.Bullet(
        label=f"{label}, {phase.name}",
        text=n.fraction(share),
        detail=detail,
        share=share,
        tone=tone,
    )


def _tone(run: Run, finding: Finding) -> str:
    if finding.digests_equal is False or run.verified is False:
        return "bad"
    return "best" if run is finding.best else "other"
