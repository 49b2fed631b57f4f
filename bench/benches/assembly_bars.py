"""Bars on assemblies of several sets of reads, each beside the best of the peers.

A bar is judged when all figures that it needs are there: a missing peer is named, not left out.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benches.assemble_command import CUESTA
from benches.assembly_circles import Circles
from benches.assembly_circles import bars as circle_bars
from harness.model import Verdict

CONTIGS, SCAFFOLDS = "contigs", "scaffolds"
AUNGA, NGA50, MISASSEMBLIES = "auNGA", "NGA50", "misassemblies"
MISMATCHES, INDELS = "mismatches per 100 kb", "indels per 100 kb"
FRACTION, COUNT, ALIGNED = "genome fraction, %", "sequences of 500 and more", "aligned"
COLUMNS = {
    AUNGA: "auNGA",
    NGA50: "NGA50",
    MISASSEMBLIES: "# misassemblies",
    MISMATCHES: "# mismatches per 100 kbp",
    INDELS: "# indels per 100 kbp",
    FRACTION: "Genome fraction (%)",
    COUNT: "# contigs",
    ALIGNED: "Total aligned length",
}
"""Names of QUAST."""
SPADES = ("spades tuned", "spades")
PEERS = (*SPADES, "skesa", "shovill", "megahit")
MEDIAN_MIN, LOWEST_MIN = 1.0, 0.9
MISMATCHES_MAX = 0.05
FRACTION_POINTS = 0.1


@dataclass(kw_only=True)
class Judged:
    """Figures of a set of reads.

    Attributes
    ----------
    figures
        By contestant, then by kind and measure: `contigs NGA50`.
    digest, circles
        Of our answer.
    """

    name: str
    figures: dict[str, Mapping[str, float]] = field(default_factory=dict)
    digest: str = ""
    circles: Circles | None = None


@dataclass(frozen=True, kw_only=True)
class _Measure:
    """A measure of a kind of sequences beside some peers."""

    sets: Sequence[Judged]
    kind: str
    name: str
    peers: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.kind} {self.name}"

    def missing(self) -> str:
        """Missing figures in words, such as `skesa of ecoli-150, saureus-150`."""
        absent = [
            (who, [item.name for item in self.sets if self.key not in item.figures.get(who, {})])
            for who in (CUESTA, *self.peers)
        ]
        words = [f"{who} of {_several(names, self.sets)}" for who, names in absent if names]
        return f"missing: {'; '.join(words)}" if words else ""

    def of(self, who: str) -> dict[str, float]:
        """The figure of a contestant for each set."""
        return {item.name: item.figures[who][self.key] for item in self.sets}

    def compared_with(
        self, best: Callable[..., float], compare: Callable[[float, float], float]
    ) -> dict[str, float]:
        """Ours compared with the best peer, by set."""
        peers = [self.of(who) for who in self.peers]
        return {
            name: compare(ours, best(figures[name] for figures in peers))
            for name, ours in self.of(CUESTA).items()
        }


def _several(names: Sequence[str], sets: Sequence[Judged]) -> str:
    return f"all {len(sets)}" if len(names) == len(sets) > 1 else ", ".join(names)


def isolates(sets: Sequence[Judged]) -> Iterator[Verdict]:
    """Bars on several isolates."""
    for kind, peers in ((CONTIGS, PEERS), (SCAFFOLDS, SPADES)):
        best = "the best peer" if kind == CONTIGS else "the better SPAdes"
        for name in (AUNGA, NGA50):
            yield from _lengths(_Measure(sets=sets, kind=kind, name=name, peers=peers), best)
    for kind in (CONTIGS, SCAFFOLDS):
        yield _misassemblies(_Measure(sets=sets, kind=kind, name=MISASSEMBLIES, peers=("skesa",)))
    yield _mismatches(_Measure(sets=sets, kind=CONTIGS, name=MISMATCHES, peers=()))
    yield from _fractions(_Measure(sets=sets, kind=CONTIGS, name=FRACTION, peers=PEERS))
    yield _counts(_Measure(sets=sets, kind=CONTIGS, name=COUNT, peers=PEERS))
    yield from circle_bars([(item.name, item.circles) for item in sets])


def eukaryotes(sets: Sequence[Judged]) -> Iterator[Verdict]:
    """Bars on chromosomes of a eukaryote."""
    yield from _lengths(_Measure(sets=sets, kind=CONTIGS, name=AUNGA, peers=PEERS), "the best peer")
    measure = _Measure(sets=sets, kind=CONTIGS, name=MISASSEMBLIES, peers=("spades tuned",))
    yield _judged(
        measure,
        "at most half of tuned SPAdes's, in sum",
        lambda: (sum(measure.of(CUESTA).values()), {}),
        lambda figure: figure <= 0.5 * sum(measure.of("spades tuned").values()),
    )


def plasmids(sets: Sequence[Judged]) -> Iterator[Verdict]:
    """Bars on the plasmids of Unicycler's sample."""
    fraction = _Measure(sets=sets, kind=CONTIGS, name=FRACTION, peers=SPADES)
    yield from _fractions(fraction)
    wrong = _Measure(sets=sets, kind=CONTIGS, name=MISASSEMBLIES, peers=())
    yield _judged(
        wrong, "none", lambda: (sum(wrong.of(CUESTA).values()), {}), lambda figure: figure == 0
    )


Figure = tuple[float, Mapping[str, float]]


def _judged(
    measure: _Measure,
    text: str,
    figure: Callable[[], Figure],
    holds: Callable[[float], bool] | None,
) -> Verdict:
    """The bar, without a figure where one that it needs is missing."""
    text = f"{measure.kind}, {measure.name}: {text}"
    if why := measure.missing():
        return Verdict(ours=CUESTA, text=text, figure=None, why=why)
    value, figures = figure()
    met = holds(value) if holds else None
    return Verdict(ours=CUESTA, text=text, figure=value, met=met, figures=figures)


def _lengths(measure: _Measure, best: str) -> Iterator[Verdict]:
    def ratios() -> dict[str, float]:
        return measure.compared_with(max, lambda ours, most: ours / most if most else 1.0)

    yield _judged(
        measure,
        f"at least {MEDIAN_MIN} of {best}'s, in the median",
        lambda: _median(ratios()),
        lambda figure: figure >= MEDIAN_MIN,
    )
    yield _judged(
        measure,
        f"nowhere below {LOWEST_MIN} of {best}'s",
        lambda: (min(ratios().values()), {}),
        lambda figure: figure >= LOWEST_MIN,
    )


def _fractions(measure: _Measure) -> Iterator[Verdict]:
    def differences() -> dict[str, float]:
        return measure.compared_with(max, lambda ours, best: ours - best)

    yield _judged(
        measure,
        "at least the best, in the median, points",
        lambda: _median(differences()),
        lambda figure: figure >= 0,
    )
    yield _judged(
        measure,
        f"nowhere {FRACTION_POINTS} points below the best",
        lambda: (min(differences().values()), {}),
        lambda figure: figure >= -FRACTION_POINTS,
    )


def _misassemblies(measure: _Measure) -> Verdict:
    # SKESA makes no scaffolds: those of ours are held to its contigs.
    skesa = _Measure(sets=measure.sets, kind=CONTIGS, name=measure.name, peers=("skesa",))
    ours = _Measure(sets=measure.sets, kind=measure.kind, name=measure.name, peers=())
    text = "not more than SKESA, in sum"
    why = skesa.missing() or ours.missing()
    if why:
        text = f"{measure.kind}, {measure.name}: {text}"
        return Verdict(ours=CUESTA, text=text, figure=None, why=why)
    limit = sum(skesa.of("skesa").values())
    total = sum(ours.of(CUESTA).values())
    return _judged(ours, text, lambda: (total, {"skesa": limit}), lambda figure: figure <= limit)


def _mismatches(measure: _Measure) -> Verdict:
    def figure() -> Figure:
        aligned = _Measure(sets=measure.sets, kind=measure.kind, name=ALIGNED, peers=())
        bases = aligned.of(CUESTA)
        rates = measure.of(CUESTA)
        mean = sum(rates[name] * bases[name] for name in rates) / sum(bases.values())
        worst = max(rates, key=lambda name: rates[name])
        return mean, {f"most, {worst},": rates[worst]}

    text = f"at most {MISMATCHES_MAX}, over all bases"
    return _judged(measure, text, figure, lambda rate: rate <= MISMATCHES_MAX)


def _counts(measure: _Measure) -> Verdict:
    def figure() -> Figure:
        return _median(measure.compared_with(min, lambda ours, best: ours / best))

    return _judged(
        measure, "times those of the peer with fewest, in the median, shown", figure, None
    )


def _median(figures: Mapping[str, float]) -> Figure:
    """The median, with the lowest and the highest of several sets."""
    if len(figures) == 1:
        return next(iter(figures.values())), {}
    ends = (("lowest", min), ("highest", max))
    named = {end: pick(figures, key=lambda name: figures[name]) for end, pick in ends}
    spread = {f"{end}, {name},": figures[name] for end, name in named.items()}
    return statistics.median(figures.values()), spread


def notes(sets: Sequence[Judged]) -> Iterator[str]:
    """Ours beside the best of the peers that are there, of sets that lack some peer."""
    for item in sets:
        peers = [who for who in PEERS if item.figures.get(who)]
        ours = item.figures.get(CUESTA, {})
        if len(peers) in (0, len(PEERS)) or not ours:
            continue
        names = [f"{CONTIGS} {name}" for name in (AUNGA, NGA50)]
        best = {name: max(item.figures[who][name] for who in peers) for name in names}
        words = [f"{name} {ours[name] / best[name]:.3f}" for name in names if best[name]]
        yield f"{item.name}: not judged, beside the best of {', '.join(peers)}: {', '.join(words)}"
