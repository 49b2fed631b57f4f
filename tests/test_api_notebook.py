"""The guide's notebook, progress in a cell and the interrupt button, in a real kernel."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cuesta
from cuesta.api.notebook import NotebookObserver
from labkit import ROOT, names

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
manager = pytest.importorskip("jupyter_client.manager", reason="jupyter-client is not installed")

GUIDE = ROOT / "docs" / "guide" / "notebook.ipynb"
CELL_SECONDS = 300

pytestmark = pytest.mark.filterwarnings("ignore")  # of Jupyter, about its own


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty folder for temporary files, also of kernels."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_the_notebook_of_the_guide_runs_and_is_stored_without_outputs(
    tmp_path: Path, temporary: Path
) -> None:
    notebook = nbformat.read(GUIDE, as_version=4)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in codes)
    try:
        for name in ("nci60", "ecoli"):
            cuesta.data.get(name)
    except cuesta.EngineError as error:
        pytest.skip(f"the data is not there and cannot be had: {error}")
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=CELL_SECONDS, resources=place).execute()
    outputs = ["\n".join(_texts(cell)) for cell in codes]
    assert outputs[1].startswith("correlate on native: verified, digest ")
    assert outputs[4].startswith("communities on native: verified, digest ")
    assert any("10000" in text and "contig_1" in text for text in outputs)
    assert (tmp_path / "report.html").is_file()
    assert names(temporary) == set()


def _texts(cell: Any) -> Iterator[str]:
    """Yield the output of a cell as plain text, without output that was cleared."""
    for output in cell.outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        if text:
            yield text


@pytest.fixture
def kernel(temporary: Path) -> Iterator[Any]:
    """Client of a kernel, with its manager."""
    running = manager.KernelManager(kernel_name="python3")
    running.start_kernel(env={**os.environ, "TMPDIR": str(temporary)})
    client = running.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield running, client
    client.stop_channels()
    running.shutdown_kernel(now=True)


def messages(client: Any, identifier: str) -> Iterator[dict[str, Any]]:
    """Yield the messages that a kernel publishes for a cell, until the cell has ended."""
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != identifier:
            continue
        content = message["content"]
        if message["msg_type"] == "status" and content["execution_state"] == "idle":
            return
        yield {"type": message["msg_type"], **content}


def test_progress_is_a_single_display_that_is_updated_and_removed_at_the_end(
    kernel: Any, large: Path
) -> None:
    _, client = kernel
    program = f"import cuesta\nfound = cuesta.run('degrees', {str(large)!r}, repeat=3)"
    published = list(messages(client, client.execute(program)))
    displays = [
        message
        for message in published
        if message["type"] in ("display_data", "update_display_data")
    ]
    assert [message["type"] for message in displays].count("display_data") == 1
    assert len({message["transient"]["display_id"] for message in displays}) == 1
    texts = [message["data"]["text/plain"] for message in displays]
    assert "to read: " in texts[0]
    assert any("run 3 of 3" in text for text in texts)
    assert any("verifying" in text for text in texts)
    assert displays[-1]["data"] == {"text/html": "", "text/plain": ""}
    assert [message for message in published if message["type"] in ("stream", "error")] == []


def test_the_interrupt_button_stops_a_run_and_leaves_nothing(
    kernel: Any, large: Path, temporary: Path
) -> None:
    running, client = kernel
    program = f"import cuesta\nfound = cuesta.run('degrees', {str(large)!r}, repeat=1000)"
    identifier = client.execute(program)
    while not any(temporary.glob("cuesta-*/degrees.partial-*")):
        time.sleep(0.02)
    time.sleep(0.3)
    running.interrupt_kernel()
    errors = [
        message["ename"] for message in messages(client, identifier) if message["type"] == "error"
    ]
    assert errors == ["KeyboardInterrupt"]
    assert names(temporary) == set()
    published = list(messages(client, client.execute("print(1 + 1)")))
    assert [message["text"] for message in published if message["type"] == "stream"] == ["2\n"]


def test_an_error_in_a_kernel_is_an_exception_of_a_single_line(kernel: Any, tmp_path: Path) -> None:
    _, client = kernel
    (tmp_path / "bad.txt").write_text("3\t1\n")
    program = f"import cuesta\ncuesta.run('scan', {str(tmp_path / 'bad.txt')!r})"
    published = list(messages(client, client.execute(program)))
    (error,) = [message for message in published if message["type"] == "error"]
    assert error["ename"] == "InputError"
    assert "bad.txt" in error["evalue"]
    assert "\n" not in error["evalue"]
    assert "SystemExit" not in json.dumps(published)


class Display:
    """Stand-in for IPython's display of a cell."""

    def __init__(self) -> None:
        self.contents: list[dict[str, str]] = []

    def __call__(self, content: dict[str, str], **_more: object) -> Display:
        self.contents.append(content)
        return self

    def update(self, content: dict[str, str], **_more: object) -> None:
        self.contents.append(content)


def test_a_long_stage_shows_a_bar_at_most_five_times_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    display, now = Display(), [100.0]
    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    observer = NotebookObserver()
    observer.note("to read: <b>")
    observer.stage("running")
    for tick in range(1, 101):
        now[0] = 100.0 + tick / 20
        observer.progress(tick << 20, 200 << 20)
    observer.close()
    bars = [
        update["text/html"] for update in display.contents if "<progress" in update["text/html"]
    ]
    assert 20 <= len(bars) <= 26
    assert bars[-1].startswith("<small>to read: &lt;b&gt;</small><div>running <progress value=")
    assert "% of 200 MiB, 20 MiB/s, " in bars[-1]
    assert display.contents[-1] == {"text/html": "", "text/plain": ""}
