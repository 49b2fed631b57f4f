"""Summaries of answers in words, by workload, from the counts of a run."""

from __future__ import annotations

from collections.abc import Mapping

from cuesta import numerals as n

HEADLINE_COUNTS = {
    "scan": {"rows_kept": "pairs kept", "rows_read": "pairs read"},
    "correlate": {"rows_kept": "pairs kept", "genes": "genes"},
    "join": {"both": "pairs in both", "left_only": "only in the first"},
    "degrees": {"genes_with_edges": "genes with an edge", "edges": "edges"},
    "communities": {"communities": "communities", "edges": "edges"},
    "dataflow": {"blocks": "blocks", "vectors": "vectors"},
    "sort": {"records": "records"},
    "kmeans": {"points": "points", "iterations": "iterations"},
    "images": {"images": "images", "objects": "objects"},
    "assemble": {"contigs": "contigs", "n50": "bases N50"},
    "modules": {"modules": "modules", "genes_in_modules": "genes in modules"},
    "threshold": {"cut_offs": "cut-offs", "genes_used": "genes"},
    "ioread": {"read_bytes": "bytes read", "requests": "requests"},
}
"""Counts that summarize an answer, by workload, with their units."""

_NOT_COUNTED = {"inner": {"left_only", "right_only"}, "left": {"right_only"}}
"""Counts of a join that are 0 whatever is there, by the way of joining."""


def known(counts: Mapping[str, int], parameters: Mapping[str, object]) -> dict[str, int]:
    """Return the counts without those that a join of these parameters does not make."""
    missing = _NOT_COUNTED.get(str(parameters.get("how", "")), set())
    return {name: count for name, count in counts.items() if name not in missing}


def outcome(workload: str, counts: Mapping[str, int], best_gene: str = "") -> str:
    """Summarize an answer by its counts; return an empty text for unknown ones.

    Arguments: `best_gene` is the first gene of the preview, where it has a name.
    """
    match workload:
        case "scan" | "correlate" if "rows_kept" in counts:
            return _passed_pairs(counts)
        case "join" if "both" in counts:
            sides = [f"{_about(counts, 'both')} are in both versions"]
            sides += [f"{_about(counts, 'left_only')} only in the first"] * (
                counts.get("left_only", 0) > 0
            )
            sides += [f"{_about(counts, 'right_only')} only in the second"] * (
                counts.get("right_only", 0) > 0
            )
            tested = _tested(counts) if "pairs_tested" in counts else ""
            return f"Of the gene pairs, {n.listed(sides)}.{tested}"
        case "degrees" | "communities":
            return _network(counts, best_gene)
        case "dataflow" if "vectors" in counts:
            return f"{_about(counts, 'vectors')} vectors went through all stages."
        case "sort" | "ioread" | "modules" | "threshold" if (
            HEADLINE_COUNTS[workload].keys() <= counts.keys()
        ):
            return (_moved if workload in ("sort", "ioread") else _modules)(counts)
        case "assemble" if "contigs" in counts:
            return _contigs(counts)
        case "kmeans" if "points" in counts:
            dimensions = n.plural(counts["dimensions"], "dimension")
            return (
                f"{_about(counts, 'points')} points of {dimensions} are grouped around "
                f"{n.plural(counts['clusters'], 'centre')}, after "
                f"{n.plural(counts['iterations'], 'iteration')}."
            )
        case "images" if "objects" in counts:
            return (
                f"{n.plural(counts['images'], 'image')} {_show(counts['images'])} "
                f"{n.plural(counts['objects'], 'object')}; the largest has "
                f"{n.plural(counts['largest_object'], 'pixel')}."
            )
    return ""


def _network(counts: Mapping[str, int], best_gene: str) -> str:
    if counts.get("edges") == 0:
        return "There is no edge."
    if "genes_with_edges" in counts:
        return (
            f"{_about(counts, 'genes_with_edges')} of {_about(counts, 'genes')} genes have at "
            f"least one of the {_about(counts, 'edges')} edges; the best connected "
            f"gene{best_gene} has {_about(counts, 'largest_degree')}."
        )
    if "communities" not in counts:
        return ""
    return (
        f"{n.plural(counts['communities'], 'community', 'communities')} "
        f"{'holds' if counts['communities'] == 1 else 'hold'} "
        f"{_about(counts, 'genes_grouped')} of {_about(counts, 'genes')} genes; the "
        f"largest has {_about(counts, 'largest_community')}."
    )


def _moved(counts: Mapping[str, int]) -> str:
    if "records" in counts:
        return f"{_about(counts, 'records')} records are in the order of their keys."
    requests = n.plural(counts["requests"], "request")
    return f"{_about(counts, 'read_bytes')} bytes were read in {requests}."


def _modules(counts: Mapping[str, int]) -> str:
    if "cut_offs" in counts:
        cut_offs = n.plural(counts["cut_offs"], "cut-off")
        return f"{cut_offs} and 15 powers of {_about(counts, 'genes_used')} genes are compared."
    verb = "holds" if counts["modules"] == 1 else "hold"
    return (
        f"{n.plural(counts['modules'], 'module')} {verb} {_about(counts, 'genes_in_modules')} of "
        f"{_about(counts, 'genes')} genes; the largest has {_about(counts, 'largest_module')}."
    )


def _contigs(counts: Mapping[str, int]) -> str:
    if counts["contigs"] == 1:
        return f"One contig came out, of {_about(counts, 'bases')} bases."
    return (
        f"{n.plural(counts['contigs'], 'contig')} have {_about(counts, 'bases')} bases, half of "
        f"them in contigs of at least {_about(counts, 'n50')}; the largest has "
        f"{_about(counts, 'largest')}."
    )


def _show(images: int) -> str:
    return "shows" if images == 1 else "show"


def _tested(counts: Mapping[str, int]) -> str:
    verb = "differs" if counts.get("pairs_different") == 1 else "differ"
    different = _about(counts, "pairs_different")
    return f" Of {_about(counts, 'pairs_tested')} tested, {different} {verb}."


def _about(counts: Mapping[str, int], name: str) -> str:
    return n.about(counts.get(name, 0))


def _passed_pairs(counts: Mapping[str, int]) -> str:
    passed, read = counts["rows_kept"], counts.get("rows_read", 0)
    if read <= 0:
        return f"{n.about(passed)} gene pairs pass."
    return f"{n.about(passed)} of {n.about(read)} gene pairs pass ({n.percent(passed / read)})."
