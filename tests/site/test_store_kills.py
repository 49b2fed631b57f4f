"""A store that is killed under load keeps its promises; the tool detects a store that does not."""

from __future__ import annotations

import json
from pathlib import Path

import store_kills
from store_load import Promises


def test_a_store_that_is_killed_under_load_keeps_its_promises(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    words = ["--state", str(state), "--seed", "5"]
    assert store_kills.main([*words, "--kills", "15"]) == 0
    first = json.loads(state.read_text())
    assert first["kills"] >= 15
    assert store_kills.main([*words, "--kills", str(first["kills"] + 5)]) == 0
    second = json.loads(state.read_text())
    assert second["kills"] >= first["kills"] + 5
    assert second["operations"] > first["operations"] > 15
    assert second["audits"] > 1
    assert second["nodes_lost"] >= 1


def test_lost_blocks_are_reported() -> None:
    promises = Promises(["/a", "/b"])
    promises.acknowledge({"do": "put", "path": "/a", "mode": "back", "sha256": "1"})
    promises.leave_open({"do": "rename", "path": "/a", "to": "/b"})
    assert "lost while" in promises.observe({"/a": None, "/b": None})[0]
    promises.acknowledge({"do": "put", "path": "/a", "mode": "memory", "sha256": "2"})
    assert promises.observe({"/a": "1", "/b": None})
    promises.acknowledge({"do": "put", "path": "/a", "mode": "memory", "sha256": "3"})
    promises.acknowledge({"do": "flush", "path": "/a"})
    assert promises.lose_node({"/a": "2", "/b": None}) == ["/a has 2 on the disk, not one of {'3'}"]
    promises.acknowledge({"do": "put", "path": "/a", "mode": "through", "sha256": "4"})
    assert promises.lose_node({"/a": "4", "/b": None}) == []
