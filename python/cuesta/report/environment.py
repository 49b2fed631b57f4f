"""The last part of a section: machine, versions, parameters and how to run it all again."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from cuesta import numerals as n
from cuesta.report.blocks import Block, Commands, Fold, Pair, Pairs, Part, SideBySide
from cuesta.report.records import Fields, Group, Run, mapping, number, text
from cuesta.trial import STANDARD_INPUT
from cuesta.workloads import WORKLOAD_NAMES, get_workload
from cuesta.workloads.question import short_name

_CACHES = {
    "as-is": "left as it was, so the input may have been in memory",
    "input-dropped": "the input's pages were dropped before every repeat",
    "machine-dropped": "the whole page cache was emptied before every repeat",
}


def part(group: Group) -> Part:
    """Part with all that a reader needs to judge the setting and to repeat the runs."""
    first = group.first
    blocks: list[Block] = []
    commands = tuple(dict.fromkeys(filter(None, (_command(run) for run in group.runs))))
    if commands:
        blocks.append(Commands(heading="To run it again", lines=commands))
    request = Pairs(heading="Asked", items=tuple(_request(group)))
    machine = Pairs(heading="Machine", items=tuple(_machine(first)))
    versions = Pairs(heading="Versions", items=tuple(_versions(group)))
    right = tuple(pairs for pairs in (machine, versions) if pairs.items)
    blocks.append(SideBySide(left=(request,), right=right))
    ceilings = tuple(_ceilings(first.object("ceilings")))
    if ceilings:
        fold = Fold(summary="This machine's measured ceilings", block=Pairs(items=ceilings))
        blocks.append(fold)
    digests = Fold(summary="Digests and verification", block=Pairs(items=tuple(_proof(group))))
    blocks.append(digests)
    aside = ("What the numbers above hold for. Another machine gives other times, never another "
             "answer.",)  # fmt: skip
    return Part(title="The environment", aside=aside, blocks=tuple(blocks))


def _request(group: Group) -> list[Pair]:
    first = group.first
    pairs = [
        Pair(name="input" if index == 0 else "", text=_input(one.path, one.bytes, one.files))
        for index, one in enumerate(first.inputs)
    ]
    pairs += _parameters(first)
    for name, show in (
        ("threads", _value),
        ("memory_bytes", lambda value: n.size(number(value) or 0)),
        ("seed", lambda value: str(value)),
        ("cache", lambda value: _CACHES.get(text(value), str(value))),
        ("started", lambda value: text(value).replace("T", " ").replace("Z", " UTC")),
    ):
        pairs += _shared(group, name, show)
    for label, run in group.named():
        options = run.object("engine_options")
        if options:
            words = ", ".join(f"{name} = {value}" for name, value in sorted(options.items()))
            pairs.append(Pair(name=f"options of {label}", text=words))
    return pairs


def _parameters(run: Run) -> list[Pair]:
    """Parameters in the workload's order, with their units and what leaving one out means."""
    by_name = {}
    if run.workload in WORKLOAD_NAMES:
        by_name = {each.name: each for each in get_workload(run.workload).parameters}
    order = [name for name in by_name if name in run.parameters]
    order += sorted(name for name in run.parameters if name not in by_name)
    pairs = []
    for name in order:
        value, parameter = run.parameters[name], by_name.get(name)
        words = _value(value)
        if parameter is not None and value is None:
            words = parameter.none or words
        elif parameter is not None and parameter.unit not in ("", "1", "index"):
            words = f"{words}{n.NBSP}{parameter.unit}"
        pairs.append(Pair(name=name.replace("_", " "), text=words))
    return pairs


def _shared(group: Group, name: str, show: Callable[[object], str]) -> list[Pair]:
    """A field of the record: once when all runs agree on it, else for each run."""
    title = {"memory_bytes": "memory limit", "cache": "page cache"}.get(name, name)
    values = [run.fields.get(name) for run in group.runs]
    if values[0] is None:
        return []
    if all(value == values[0] for value in values):
        return [Pair(name=title, text=show(values[0]))]
    each = (f"{label} {show(run.fields.get(name))}" for label, run in group.named())
    return [Pair(name=title, text="; ".join(each))]


def _machine(run: Run) -> list[Pair]:
    facts = run.object("machine")
    pairs = []
    if text(facts.get("cpu")):
        pairs.append(Pair(name="processor", text=text(facts.get("cpu"))))
    cores, usable = number(facts.get("cores")), number(facts.get("cores_usable"))
    if cores:
        free = "" if usable in (None, cores) else f", {int(usable or 0)} of them usable"
        pairs.append(Pair(name="cores", text=f"{int(cores)}{free}"))
    memory = number(facts.get("memory_bytes"))
    if memory:
        pairs.append(Pair(name="memory", text=n.size(memory)))
    if text(facts.get("kernel")):
        pairs.append(Pair(name="kernel", text=text(facts.get("kernel"))))
    systems = mapping(facts.get("filesystems"))
    if systems:
        words = ", ".join(f"{name} on {kind}" for name, kind in systems.items())
        pairs.append(Pair(name="file systems", text=words))
    return pairs


def _versions(group: Group) -> list[Pair]:
    """Every version once; engines that disagree are all named."""
    versions_by_name: dict[str, list[str]] = {}
    for run in group.runs:
        for name, version in run.object("versions").items():
            if str(version) not in versions_by_name.setdefault(name, []):
                versions_by_name[name].append(str(version))
    return [
        Pair(name=name, text=", ".join(versions)) for name, versions in versions_by_name.items()
    ]


def _ceilings(ceilings: Fields) -> list[Pair]:
    pairs = []
    for name, value in ceilings.items():
        per_s = number(value)
        if per_s is None:
            continue
        for unit in ("bytes", "rows", "flops"):
            if name.endswith(f"_{unit}_per_s"):
                words = name.removesuffix(f"_{unit}_per_s").replace("_", " ")
                pairs.append(Pair(name=words, text=n.rate(per_s, unit)))
                break
        else:
            pairs.append(Pair(name=name.replace("_", " "), text=n.significant(per_s)))
    return pairs


def _proof(group: Group) -> list[Pair]:
    pairs = []
    for label, run in group.named():
        verification = run.object("verification")
        method = text(verification.get("method")) or "NOT VERIFIED"
        method += ", on a sample" * run.sampled
        seconds = number(verification.get("seconds"))
        took = f", in {n.duration(seconds)}" if seconds is not None else ""
        pairs.append(Pair(name=label, text=f"{run.digest or 'no digest'}; {method}{took}"))
        pairs.append(Pair(name="", text=f"record: {run.source}"))
    return pairs


def _command(run: Run) -> tuple[str, ...]:
    words = run.fields.get("command")
    return tuple(shlex.quote(str(word)) for word in words) if isinstance(words, list) else ()


def _input(path: str, size_bytes: int | None, files: int | None) -> str:
    facts = []
    if files is not None and files != 1:
        facts.append(n.plural(files, "file"))
    if size_bytes is not None:
        facts.append(n.size(size_bytes))
    name = short_name(path) if path == STANDARD_INPUT else path
    return f"{name} ({', '.join(facts)})" if facts else name


def _value(value: object) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    amount = number(value)
    return str(value) if amount is None else f"{amount:,.10g}"
