"""Histories of a job of stores: the checker, the promise, and a few runs under faults.

`make soak` checks a thousand runs (`tools/store_histories.py`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from historychecker import Operation
from historycontent import content, content_value
from historykit import Run, clocked_job
from historymodel import ABSENT, verdict
from historystate import NODES
from hostkit import hosts

RUNS = 2
RUNS_MAX = 4
"""On a busy machine a store may take another for dead: such a run is not judged."""


def operation(start: float, end: float, do: str, **fields: Any) -> Operation:
    """Return an operation of node 1 on path 0 by default; `result` is its result."""
    result = fields.pop("result", None)
    request = {"do": do, "node": 1, "path": 0} | fields
    return Operation(start=start, end=end, request=request, result=result)


def write(start: float, end: float, value: str, **fields: Any) -> Operation:
    return operation(start, end, "write", value=value, **{"mode": "through"} | fields)


def read(start: float, end: float, result: str | None, **fields: Any) -> Operation:
    return operation(start, end, "read", result=result, **fields)


def is_allowed(operations: Iterable[Operation]) -> bool | None:
    """Whether the promise allows a history."""
    return verdict(list(operations), 2).is_linearizable


def sight(start: float, end: float, do: str, node: int) -> list[Operation]:
    """Return the event that a node loses or regains sight of the others."""
    peers = [peer for peer in NODES if peer != node]
    pairs = [(node, peer) for peer in peers] + [(peer, node) for peer in peers]
    return [operation(start, end, do, node=node, peer=peer) for node, peer in pairs]


def test_a_read_returns_the_last_write_of_any_node() -> None:
    assert is_allowed([write(0, 1, "v"), read(2, 3, "v", node=2)])
    assert is_allowed([write(0, 1, "v"), read(2, 3, None, node=2)]) is False
    assert is_allowed([write(0, 1, "v"), write(2, 3, "w"), read(4, 5, "v")]) is False


def test_a_read_during_a_write_may_come_before_or_after_it() -> None:
    for result in (None, "v"):
        assert is_allowed([write(0, 3, "v"), read(1, 2, result)])
    # But two reads in sequence do not go back in time.
    assert is_allowed([write(0, 9, "v"), read(1, 2, "v"), read(3, 4, None)]) is False


def test_nodes_learn_in_turn_of_a_change_of_a_file_in_memory() -> None:
    """A read gave the old file while another node read the new one, and the change was under way.

    The promise says so since: both are read until the change is acknowledged, and only the new one
    then. Files on the disk change for all nodes at once.
    """
    for mode in ("memory", "through"):
        first, second = write(0, 1, "v", mode=mode), write(2, 9, "w", mode=mode, node=2)
        during = [read(3, 4, "w", node=3), read(5, 6, "v")]
        assert is_allowed([first, second, *during]) is (mode == "memory")
        assert is_allowed([first, second, *during, read(10, 11, "v")]) is False


def test_a_write_without_an_answer_may_show_later_or_never() -> None:
    lost = write(0, math.inf, "v")
    assert is_allowed([lost, read(1, 2, None), read(3, 4, "v")])
    assert is_allowed([lost, read(1, 2, None), read(3, 4, None)])
    assert is_allowed([lost, read(1, 2, "v"), read(3, 4, None)]) is False


def test_a_value_without_a_write_is_never_read() -> None:
    assert is_allowed([write(0, 1, "v"), read(2, 3, "w")]) is False


def test_a_removed_file_does_not_come_back() -> None:
    removed = [write(0, 1, "v", mode="memory"), operation(2, 3, "remove", node=2)]
    assert is_allowed([*removed, read(4, 5, None)])
    assert is_allowed([*removed, read(4, 5, "v")]) is False
    assert is_allowed([*removed, operation(4, 5, "remove", result=ABSENT)])


def test_a_present_file_is_not_refused_as_absent() -> None:
    """A rename of a file in memory that another node flushed meanwhile was refused as absent. Now
    it succeeds.
    """
    renamed = operation(2, 5, "rename", target=1, result=ABSENT)
    flushed = operation(3, 4, "flush", node=2)
    assert is_allowed([write(0, 1, "v", mode="memory"), renamed, flushed]) is False


def test_a_rename_moves_a_file_and_leaves_none() -> None:
    moved = [write(0, 1, "v", mode="memory"), operation(2, 3, "rename", target=1)]
    assert is_allowed([*moved, read(4, 5, None), read(6, 7, "v", path=1)])
    assert is_allowed([*moved, read(4, 5, "v")]) is False


def test_two_renames_of_a_file_at_once_may_both_succeed_but_not_in_sequence() -> None:
    first = operation(2, 5, "rename", target=1)
    for start, allowed in ((3.0, True), (6.0, False)):
        second = operation(start, start + 3, "rename", target=1, node=2)
        history = [write(0, 1, "v"), first, second, read(10, 11, "v", path=1)]
        assert is_allowed(history) is allowed


def test_a_removal_may_find_the_old_name_of_a_rename_under_way() -> None:
    """A rename over another file and a removal of its old name both succeeded on two nodes.

    The rename gives the new name, then ends the old one, which the removal had ended. The promise
    says so since; the file has its new name.
    """
    before = [write(0, 1, "v"), write(0, 1, "w", path=1), operation(2, 5, "rename", target=1)]
    after = [read(10, 11, None), read(12, 13, "v", path=1)]
    for start, expected in ((3, True), (6, False)):
        removal = operation(start, start + 1, "remove", node=2)
        assert is_allowed([*before, removal, *after]) is expected
    removal = operation(3, 4, "remove", node=2)
    assert is_allowed([*before, removal, read(10, 11, "w", path=1)]) is False


def test_a_rename_whose_store_was_killed_may_leave_both_names() -> None:
    def renamed(end: float) -> list[Operation]:
        result = "unknown" if end == math.inf else None
        rename = operation(4, end, "rename", target=1, result=result)
        return [write(0, 1, "v"), write(2, 3, "w", path=1), rename]

    both = [read(6, 7, "v"), read(8, 9, "v", path=1)]
    assert is_allowed([*renamed(math.inf), *both])
    assert is_allowed([*renamed(5), *both]) is False
    assert is_allowed([*renamed(math.inf), *both, read(10, 11, "w", path=1)]) is False


def test_a_flush_of_a_file_out_of_sight_is_no_success() -> None:
    """A store reported that a file was flushed whose node was dead. Now the flush fails."""
    cut = [write(0, 1, "v", mode="memory", node=3), *sight(2, 3, "lose_sight", 3)]
    assert is_allowed([*cut, operation(4, 5, "flush", node=1)]) is False
    mended = [*cut, *sight(4, 5, "regain_sight", 3), operation(6, 7, "flush", node=1)]
    assert is_allowed([*mended, read(8, 9, "v", node=2)])
    # Who removes a name forgets the versions that it does not see.
    removed = [*cut, operation(4, 5, "remove", node=1), operation(6, 7, "flush", node=1)]
    back = [*sight(8, 9, "regain_sight", 3), read(10, 11, "v", node=2)]
    assert is_allowed([*removed, *back])
    assert is_allowed(
        [*removed, *back, *sight(12, 13, "lose_sight", 3), operation(14, 15, "flush")]
    ) is (False)


def test_two_files_of_a_name_are_both_retained() -> None:
    cut = [*sight(0, 1, "lose_sight", 3)]
    written = [write(2, 3, "v", mode="memory"), write(2, 3, "w", mode="memory", node=3)]
    mended = sight(4, 5, "regain_sight", 3)
    for winner, loser in (("v", "w"), ("w", "v")):
        end = [read(6 + node, 6.5 + node, winner, node=node) for node in NODES]
        recorded = operation(12, 13, "conflicts", result=[[0, loser]])
        silent = operation(12, 13, "conflicts", result=[])
        assert is_allowed([*cut, *written, *mended, *end, recorded])
        assert is_allowed([*cut, *written, *mended, *end, silent]) is False


def test_two_files_written_at_once_may_be_read_until_the_next_change_of_their_name() -> None:
    written = [write(0, 2, "v", mode="memory"), write(1, 3, "w", mode="memory", node=2)]
    both = [read(4, 5, "v"), read(4, 5, "w", node=2), read(6, 7, "v")]
    removed = operation(8, 9, "remove", node=3)
    for conflict in ("v", "w"):
        end = [read(10, 11, None), operation(12, 13, "conflicts", result=[[0, conflict]])]
        assert is_allowed([*written, *both, removed, *end])
    # Not both are lost, and none comes back.
    silent = operation(12, 13, "conflicts", result=[])
    assert is_allowed([*written, *both, removed, silent]) is False
    recorded = operation(12, 13, "conflicts", result=[[0, "v"]])
    assert is_allowed([*written, *both, removed, read(10, 11, "w"), recorded]) is False


def test_a_file_that_was_replaced_does_not_return() -> None:
    """A third store lost the later one to a conflict name, and had the first one again."""
    written = [write(0, 1, "v", mode="memory"), write(2, 3, "w", mode="memory", node=2)]
    for value in ("v", "w"):
        recorded = operation(12, 13, "conflicts", result=[[0, value]])
        assert is_allowed([*written, read(4, 5, "v", node=3), recorded]) is False
    lost = operation(12, 13, "conflicts", result=[[0, "w"]])
    assert is_allowed([*written, read(4, 5, None, node=3), lost]) is False


def test_a_flush_over_an_unknown_file_leaves_a_conflict_name() -> None:
    cut = [*sight(0, 1, "lose_sight", 3), write(2, 3, "v", mode="memory")]
    through, mended = write(4, 5, "w", node=3), sight(6, 7, "regain_sight", 3)
    flushed = [*cut, through, *mended, operation(8, 9, "flush", node=2)]
    recorded = operation(12, 13, "conflicts", result=[[0, "v"]])
    assert is_allowed([*flushed, read(10, 11, "w"), recorded])
    assert is_allowed([*flushed, read(10, 11, "w")]) is False
    # A writer that knew it replaces it.
    known = [write(0, 1, "w"), write(2, 3, "v", mode="memory"), operation(4, 5, "flush")]
    assert is_allowed([*known, read(6, 7, "w"), recorded]) is False


def test_a_rename_first_adds_a_conflict_name_for_a_file_older_than_the_level_below() -> None:
    history = [
        write(0, 1, "v", mode="memory"),
        *sight(2, 3, "lose_sight", 1),
        write(4, 5, "w", node=2),
        *sight(6, 7, "regain_sight", 1),
        read(8, 9, "v", node=2),
        operation(10, 13, "rename", node=3, target=1),
        read(11, 12, "w"),
        read(14, 15, "w", path=1),
    ]
    kept = operation(16, 17, "conflicts", result=[[0, "v"]])
    assert is_allowed([*history, kept])
    assert is_allowed([*history, operation(16, 17, "conflicts", result=[])]) is False


def test_a_rename_may_flush_its_files_before_it_changes_their_names() -> None:
    history = [
        *sight(0, 1, "lose_sight", 1),
        write(2, 3, "v", node=2, path=1),
        write(4, 5, "w", node=2, mode="memory"),
        operation(6, 9, "rename", node=2, path=1, target=0),
    ]
    assert is_allowed([*history, read(7, 8, "w"), read(10, 11, "v")])
    assert is_allowed([*history, read(10, 11, "w")]) is False


def test_a_file_that_a_kill_left_on_both_levels_may_survive_its_removal_meanwhile() -> None:
    """A store was killed when a file had its name on the disk, before its memory said so.

    Another node removed it there; the store had it again. The promise says so since: a removal
    does not reach the memory of a store that has ended.
    """
    history = [write(0, 1, "v", mode="back", node=3), operation(2, 3, "end", node=3)]
    history += [operation(2, 3, "lose_sight", node=node, peer=3) for node in (1, 2)]
    history += [read(4, 5, "v")]
    begins = [operation(10, 11, "begin", node=3), *sight(10, 11, "regain_sight", 3)]
    for start, expected in ((6, True), (12, False)):
        removal = operation(start, start + 1, "remove")
        assert is_allowed([*history, removal, *begins, read(20, 21, "v")]) is expected
        assert is_allowed([*history, removal, *begins, read(20, 21, None)])


def test_a_file_that_reaches_the_disk_is_in_memory_for_a_moment_more() -> None:
    """A file was renamed on the disk by a node that did not see the one that had just written it.

    Its own node read it under the old name until it had noted that the disk has it. The promise
    says so since; nodes that see each other rename the file where it is.
    """
    moved = [
        write(2, 3, "v", mode="back", node=2),
        operation(4, 5, "rename", target=1),
        read(6, 7, "v", node=2),
        read(8, 9, "v", path=1),
    ]
    assert is_allowed([*sight(0, 1, "lose_sight", 2), *moved])
    assert (
        is_allowed([*sight(0, 1, "lose_sight", 2), *moved[:3], read(8, 9, None, path=1)]) is False
    )
    assert is_allowed(moved) is False


def test_a_file_replaced_while_its_store_ends_remains_until_the_nodes_have_met() -> None:
    nodes = [operation(2, 3, "end", node=3), write(4, 8, "w", mode="memory")]
    nodes += [operation(5, 9, "lose_sight", node=node, peer=3) for node in (1, 2)]
    nodes += [operation(10, 11, "begin", node=3), read(12, 13, "v", node=3)]
    pairs = [(1, 3), (2, 3), (3, 1), (3, 2)]
    nodes += [operation(10, 15, "regain_sight", node=node, peer=peer) for node, peer in pairs]
    history = [write(0, 1, "v", node=3, mode="memory"), *nodes, read(16, 17, "w", node=3)]
    assert is_allowed([*history, read(18, 19, "w"), operation(20, 21, "conflicts", result=[])])
    again = [read(19, 20, "v", node=3), operation(21, 22, "conflicts", result=[])]
    assert is_allowed([*history, write(17, 18, "x"), *again]) is False


def test_a_program_without_its_store_reads_what_is_below() -> None:
    ended = [write(0, 1, "v"), write(2, 3, "w", mode="memory"), operation(4, 5, "end")]
    assert is_allowed([*ended, read(6, 7, "v")])
    assert is_allowed([write(0, 1, "v"), write(2, 3, "w", mode="memory"), read(6, 7, "v")]) is False


def test_a_search_that_grows_too_large_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("historychecker.CONFIGURATIONS_MAX", 10)
    operations = [write(0, 9, f"v{number}") for number in range(8)]
    assert is_allowed([*operations, read(10, 11, "v3")]) is None


def test_content_of_a_file_shows_damage() -> None:
    draw = random.Random(1)
    for _ in range(100):
        value = f"{draw.getrandbits(48):012x}"
        intact = content(value)
        assert content_value(intact) == value
        at = draw.randrange(len(intact))
        assert content_value(intact[:at]) != value
        assert content_value(intact[:at] + b"#" + intact[at + 1 :]) != value


def test_histories_of_files_on_the_disk_keep_the_promise_under_faults(tmp_path: Path) -> None:
    with hosts(len(NODES)) as obstacle:
        if obstacle:
            pytest.skip(obstacle)
        with clocked_job(tmp_path) as job:
            judged = 0
            for number in range(RUNS_MAX):
                run = Run(job, number, seed=number, groups=["disk"])
                run.play(faults=3)
                assert [verdict for _, verdict in run.violations()] == []
                judged += run.counts.runs
                if judged == RUNS:
                    break
