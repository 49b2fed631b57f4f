"""`images` on ranks: each has a range of the images; only lines of the answer travel."""

from __future__ import annotations

import json
from typing import Any

from cuesta.engines import images
from cuesta.engines.mpi.clock import Clock
from cuesta.engines.request import native_request
from cuesta.lab.request import native_module


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Rank 0 lists and writes. The response is that of `_native.run`."""
    native = native_module()
    leads = world.rank == 0
    asked = request | {"threads": 1, "memory_bytes": request["memory_bytes"] // world.size}
    clock = Clock(world)
    with clock.phase("list"):
        found = json.loads(native.images_facts(native_request(asked))) if leads else None
        facts = world.bcast(found)
    mine = images.shares(facts, world.size)[world.rank]
    with clock.phase("images", rows=facts["images"], bytes=facts["bytes"]):
        lines = images.rows(native, asked, mine)
    with clock.phase("reduce", rows=facts["images"]):
        every = world.gather(lines)
        written = native.images_write(request["output"], "".join(every)) if leads else None
    counts = json.loads(written)["counts"] if written else {}
    return {"phases": clock.phases, "counts": counts | {"ranks": world.size}}
