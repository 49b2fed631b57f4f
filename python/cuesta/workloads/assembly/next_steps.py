"""Next steps, by rules: causes of short or doubtful contigs in reads, spectrum and graph.

The guide to assembly lists the rules with their thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cuesta import numerals as n
from cuesta.workloads.assembly import remarks
from cuesta.workloads.assembly.files import Files, Graph, View, middle, name_of
from cuesta.workloads.assembly.spectrum import about
from cuesta.workloads.assembly.tables import n50_of

Step = tuple[str, str]
"""A step in a few words, and its reason in sentences."""

TITLE = "What to do next"
"""Title of the view."""

THIN_DEPTH = 14.0
"""Mean count of the genome's k-mers of the first size below which contigs end because reads are
missing by chance."""
WANTED_DEPTH = 20.0

MANY_ERRORS = 0.01
"""Error rate of the reads from which on errors, not repeats, end contigs."""

ENDS_MIN = 10
ENDS_SHARE = 0.5
SHORT_SHARE = 0.25
"""Ends of contigs from which on they are checked, if N50 is below `SHORT_SHARE` of all bases; and
the share of them at repeats from which on these are the cause."""

APART_RATIO = 1.7
"""Ratio of depths at which contigs are apart from most bases ..."""
BETWEEN_RATIO = 1.4
BETWEEN_SHARE = 0.2
"""... while contigs between both ratios have less than this share of the bases of those apart: they
are a cluster, not the tail of an uneven depth."""

APART_BASES_MIN = 10_000
APART_SHARE = 0.05
APART_SHARE_WITH_GC = 0.01
APART_GC = 0.05
"""Least bases of a cluster, and least share of all, lower where its GC differs by `APART_GC`."""

SPREAD_SHARE = 0.6
"""Deviation of the insert size, as a share of its median, from which on pairs are doubtful."""

REPEAT_RATIO = 1.6
REPEAT_BASES_MIN = 200


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Contigs whose depth differs from that of most."""

    segments: tuple[int, ...]
    bases: int
    depth: float
    gc: float


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Numbers of ends of linear contigs, and of those with a link.

    `short` is whether contigs and scaffolds are short compared with the sum of the contigs.
    """

    all: int
    linked: int
    short: bool


def views(answer: Files, parameters: Mapping[str, object]) -> list[View]:
    """Return all steps whose rules apply, or a step that reports that none does.

    No view for an answer with contigs if errors were not removed by the default rules.
    """
    why = remarks.reason(answer.folder)
    steps = [("No contig", f"{why[:1].upper()}{why[1:]}.")] if why else []
    if parameters.get("profile") == "default":
        steps += _steps(answer, parameters)
    elif not steps:
        return []
    if not steps:
        steps = [("Nothing more", _fine(answer))]
    return [{"kind": "list", "title": TITLE, "items": [list(step) for step in steps]}]


def _steps(answer: Files, parameters: Mapping[str, object]) -> Iterator[Step]:
    levels, graph = answer.stats["levels"], answer.graph
    first = levels[0]
    fit = first["fit"]
    if parameters.get("pairs") or parameters.get("interleaved"):
        yield from _pairs(answer.stats)
    if not fit["depth"]:
        yield _no_peak(first["k"])
        return
    cluster = strange(graph, int(answer.stats["min_contig"]))
    if cluster:
        yield _contamination(cluster, graph)
    hindered = False
    if fit["depth"] < THIN_DEPTH and fit["error_rate"] < MANY_ERRORS:
        yield _thin(first["k"], fit["depth"])
        hindered = True
    if fit["error_rate"] >= MANY_ERRORS:
        yield _errors(fit["error_rate"])
        hindered = True
    if not hindered:
        left_out = frozenset(cluster.segments) if cluster else frozenset()
        yield from _broken(answer, parameters, _ends(answer, left_out))


def strange(graph: Graph, least_bases: int) -> Cluster | None:
    """Return the larger cluster of contigs that may be another organism's, if there is one.

    They are linear, not linked to the largest component, and of lower depth than most bases, or of
    lower or higher depth and another GC.
    """
    if not graph.lengths:
        return None
    usual, total = graph.usual_depth, sum(graph.lengths)
    outside = [
        segment
        for component in graph.components[1:]
        for segment in component
        if graph.lengths[segment] >= least_bases and segment not in graph.circular
    ]
    ratios = {segment: graph.depths[segment] / usual for segment in outside}
    clusters = []
    for thin in (True, False):
        away = {segment: (1 / ratio if ratio else 1e9) if thin else ratio
                for segment, ratio in ratios.items()}  # fmt: skip
        apart = [segment for segment, times in away.items() if times >= APART_RATIO]
        between = [segment for segment, times in away.items()
                   if BETWEEN_RATIO <= times < APART_RATIO]  # fmt: skip
        cluster = _cluster(graph, apart)
        between_bases = sum(graph.lengths[segment] for segment in between)
        other_gc = abs(cluster.gc - graph.usual_gc) >= APART_GC
        share = APART_SHARE_WITH_GC if other_gc else APART_SHARE
        if (
            cluster.bases >= max(APART_BASES_MIN, share * total)
            and between_bases < BETWEEN_SHARE * cluster.bases
            and (thin or other_gc)
        ):
            clusters.append(cluster)
    return max(clusters, key=lambda cluster: cluster.bases, default=None)


def _cluster(graph: Graph, segments: Sequence[int]) -> Cluster:
    lengths = [graph.lengths[segment] for segment in segments]
    return Cluster(
        segments=tuple(segments),
        bases=sum(lengths),
        depth=middle((graph.depths[segment] for segment in segments), lengths),
        gc=middle((graph.gc[segment] for segment in segments), lengths),
    )


def _contamination(cluster: Cluster, graph: Graph) -> Step:
    total = sum(graph.lengths)
    longest = max(cluster.segments, key=lambda segment: (graph.lengths[segment], -segment))
    gc = ""
    if abs(cluster.gc - graph.usual_gc) >= APART_GC:
        gc = f", of {n.percent(cluster.gc)} GC where most have {n.percent(graph.usual_gc)}"
    return "Look for contamination", (
        f"{n.plural(len(cluster.segments), 'contig')} with {n.count(cluster.bases)} bases, "
        f"{n.percent(cluster.bases / total)} of all, were read {cluster.depth:.3g} times where "
        f"most were read {graph.usual_depth:.3g} times, with little in between{gc}. No link leads "
        "from them to the largest component. They may be of another organism, or of a plasmid, a "
        f"phage or an organelle. Search some, such as {name_of(longest)}, in a database."
    )


def _thin(k: int, depth: float) -> Step:
    return "Read deeper", (
        f"The genome's {k}-mers were seen {depth:.1f} times on average. Below {THIN_DEPTH:.0f} "
        "contigs end where reads are too few by chance. "
        f"{WANTED_DEPTH / depth:.2g} times as many reads would make it {WANTED_DEPTH:.0f}."
    )


def _no_peak(k: int) -> Step:
    why = (
        f"The spectrum of {k}-mers has no peak: the genome was read too thinly, less than about 5 "
        "times, or has less than about 1,000 bases, or the reads are not of one genome. For reads "
        "of many genomes there is --profile metagenome."
    )
    return "Look at the reads", why


def _errors(rate: float) -> Step:
    return "Trim or correct the reads", (
        f"About one base in {1 / rate:.0f} of the reads is wrong; where it is more than one in "
        f"{1 / MANY_ERRORS:.0f}, errors end contigs. Cut adapters and ends of low quality off. "
        "Long reads with many errors need an assembler of their own."
    )


def _pairs(stats: Mapping[str, Any]) -> Iterator[Step]:
    """Check for pairs without information at any size of k-mers, or whose reads are not mates."""
    by_size = [level["mates"] for level in stats["levels"] if level["mates"]]
    libraries = (stats.get("scaffolds") or {}).get("libraries") or []
    known = [facts for facts in (*by_size, *libraries) if facts.get("insert")]
    if not known:
        yield (
            "Check the pairs",
            (
                "They said nothing, and there is no scaffolds.fa: fewer than 1,000 of them lie on "
                "one contig. Are both files of one library, in the same order?"
            ),
        )
    for facts in libraries:
        insert, deviation = facts["insert"], facts["deviation"]
        if insert and deviation >= SPREAD_SHARE * insert:
            yield (
                "Check the pairs",
                (
                    f"Those on one contig lie {insert:,.0f} bases apart, give or take "
                    f"{deviation:,.0f}: so far apart are reads that are no mates. Are both files "
                    "of one library, in the same order?"
                ),
            )
            return


def _ends(answer: Files, left_out: frozenset[int]) -> Ends:
    graph, least_bases = answer.graph, int(answer.stats["min_contig"])
    scaffolds_n50 = (answer.stats.get("scaffolds") or {}).get("n50", 0)
    linear = [
        segment
        for segment, length in enumerate(graph.lengths)
        if length >= least_bases and segment not in graph.circular and segment not in left_out
    ]
    linked = sum(graph.linked[2 * segment] + graph.linked[2 * segment + 1] for segment in linear)
    lengths = sorted((graph.lengths[segment] for segment in linear), reverse=True)
    n50, bases = max(n50_of(lengths), scaffolds_n50), sum(lengths)
    return Ends(all=2 * len(linear), linked=linked, short=n50 < SHORT_SHARE * bases)


def _broken(answer: Files, parameters: Mapping[str, object], ends: Ends) -> Iterator[Step]:
    """Yield the cause of short contigs if not depth or errors: repeats, or an uneven depth."""
    if ends.all < ENDS_MIN or not ends.short:
        return
    if ends.linked >= ENDS_SHARE * ends.all:
        yield _repeats(answer, parameters, ends)
    else:
        depth = answer.graph.usual_depth
        yield (
            "Even out the depth",
            (
                f"{n.count(ends.all - ends.linked)} of {n.count(ends.all)} ends of contigs are "
                f"where no read continues, although most bases were read {depth:.3g} times. Some "
                "places were read much less than others: amplify less, or read deeper."
            ),
        )


def _repeats(answer: Files, parameters: Mapping[str, object], ends: Ends) -> Step:
    graph = answer.graph
    copies = [
        length
        for segment, length in enumerate(graph.lengths)
        if length >= REPEAT_BASES_MIN
        and graph.depths[segment] >= REPEAT_RATIO * graph.usual_depth
        and graph.is_linked(segment)
        and segment not in graph.circular
    ]
    why = (
        f"The reads are deep enough and have few errors; {n.count(ends.linked)} of "
        f"{n.count(ends.all)} ends of contigs are at repeats."
    )
    if copies:
        why += f" The longest of these has {n.plural(max(copies), 'base')}."
    if parameters.get("kmer_sizes") not in (None, "auto") and len(answer.stats["levels"]) == 1:
        longest = "Without -k several sizes are used, up to the length of the reads."
        return "Use longer k-mers", f"{why} {longest}"
    paired = parameters.get("pairs") or parameters.get("interleaved")
    pairs = "pairs that are further apart" if paired else "pairs"
    longer = "Reads longer than that" if copies else "Longer reads"
    return "Read longer", f"{why} {longer}, or {pairs}, would bridge them."


def _fine(answer: Files) -> str:
    fit = answer.stats["levels"][0]["fit"]
    rate = fit["error_rate"]
    wrong = f"about one base in {about(1 / rate)}" if rate else "no base"
    return (
        f"Most bases were read {answer.graph.usual_depth:.3g} times, {wrong} is wrong, and few "
        "contigs or scaffolds end at repeats or gaps: no rule asks for other reads."
    )
