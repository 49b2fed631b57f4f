"""The page and the metrics of a store: who may see them, their content, their end."""

from __future__ import annotations

import http.client
import json
import os
import pty
import re
import signal
import socket
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import fsspec
import pytest

from browserkit import CHROMIUM, NEEDS_CHROMIUM
from cuesta.report import simulation as curves
from cuesta_store import page
from cuesta_store.errors import InputError
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.metrics import metrics
from cuesta_store.simulate import Simulated, Simulation, recommendation
from storekit import BLOCK_BYTES, RunningStore, noise, running_peers, store
from waitkit import HANG_SECONDS, wait_for

__all__ = ["store"]

LABELS = r'(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})?'
SAMPLE = re.compile(rf"cuesta_store_([a-z_]+)({LABELS}) ([0-9.]+)")


def ask(url: str, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """Return the answer to a request."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    response = reply.status, dict(reply.getheaders()), reply.read().decode()
    connection.close()
    return response


def token_of(url: str) -> str:
    return url.partition("token=")[2]


def has_ended(url: str) -> bool:
    try:
        ask(url, "/")
    except (OSError, http.client.HTTPException):
        # The store may end while it answers.
        return True
    return False


def test_the_page_is_hidden_without_its_token(store: RunningStore) -> None:
    url = page.start(store.folder, 0)
    token = token_of(url)
    assert urlsplit(url).hostname == "127.0.0.1"
    assert stat.S_IMODE((store.folder / page.FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    for path in ("/", "/status.json", "/history.json", "/metrics", "/style.css", "/?token=wrong"):
        assert ask(url, path)[0] == 401
    assert ask(url, "/metrics", Authorization=f"Bearer {token}x")[0] == 401
    assert ask(url, "/", Authorization="Bearer \u00e9")[0] == 401
    assert ask(url, "/metrics", Authorization=f"Bearer {token}")[0] == 200
    _, headers, body = ask(url, f"/?token={token}")
    assert headers["Refresh"] == "0; url=/"
    assert "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert token not in cookie + body
    code, headers, body = ask(url, "/", Cookie=cookie)
    assert code == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert token not in body
    assert ask(url, "/../page.json", Cookie=cookie)[0] == 404


def test_a_name_that_was_led_here_is_sent_away(store: RunningStore) -> None:
    url = page.start(store.folder, 0)
    port, token = urlsplit(url).port, token_of(url)
    for host, code in (("evil.example", 421), (f"evil.example:{port}", 421), ("localhost", 421)):
        assert ask(url, "/metrics", Host=host, Authorization=f"Bearer {token}")[0] == code
    local = f"localhost:{port}"
    assert ask(url, "/metrics", Host=local, Authorization=f"Bearer {token}")[0] == 200


def test_idle_connections_keep_the_owner_from_no_page(
    store: RunningStore,
) -> None:
    """Sixteen requests are answered at the same time, and more were rejected: sixteen silent
    connections, from any account, kept the owner of the store from its page. Now idle connections
    do not.
    """
    url = page.start(store.folder, 0)
    place = urlsplit(url)
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(socket.create_connection((place.hostname, place.port)))
        assert ask(url, "/metrics", Authorization=f"Bearer {token_of(url)}")[0] == 200


def samples(text: str) -> dict[str, float]:
    """Return the values of metrics, written in the format of Prometheus."""
    types, values = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP cuesta_store_"):
            match = SAMPLE.fullmatch(line)
            assert match, line
            values[match[1] + match[2]] = float(match[3])
            kind = types[f"cuesta_store_{match[1]}"]
            assert kind == ("counter" if match[1].endswith("_total") else "gauge")
    return values


def test_metrics_are_those_of_the_status(store: RunningStore) -> None:
    content = store.write("a", noise(1, 2 * BLOCK_BYTES))
    for _ in range(3):
        with fsspec.open("cuesta:///a") as file:
            assert file.read() == content
    url = page.start(store.folder, 0)
    bearer = {"Authorization": f"Bearer {token_of(url)}"}
    _, headers, text = ask(url, "/metrics", **bearer)
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert text.endswith("\n")
    values = samples(text)
    assert (values["hits_total"], values["misses_total"]) == (4, 2)
    assert values['leased_bytes_total{tier="memory"}'] == 4 * BLOCK_BYTES
    assert values['leased_bytes_total{tier="under"}'] == 2 * BLOCK_BYTES
    assert values["used_bytes"] == 2 * BLOCK_BYTES
    assert f'under="{store.under}"' in text
    status = json.loads(ask(url, "/status.json", **bearer)[2])
    assert status.keys() == store.status().keys()
    assert json.loads(ask(url, "/history.json", **bearer)[2])[0]["hits"] == 4


def stores_that_met(stack: ExitStack, under: Path) -> tuple[RunningStore, str]:
    """Yield a store that has read three blocks of another, met a stranger, and lost the other."""
    store, other = stack.enter_context(running_peers(under, 2))
    files = CuestaFileSystem(str(other.folder), skip_instance_cache=True)
    with files.open("/alone", "wb", write_mode="memory") as file:
        file.write(noise(1, 3 * BLOCK_BYTES - 5))
    files = CuestaFileSystem(str(store.folder), skip_instance_cache=True)
    assert files.cat_file("/alone") == noise(1, 3 * BLOCK_BYTES - 5)
    peers = store.status()["peers"]
    with socket.create_connection(peers["name"].split(":")) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    wait_for(lambda: store.status()["peers"]["refused"] == 1)
    exported = samples(metrics(other.status()))
    peer = f'{{peer="{peers["name"]}"}}'
    assert exported[f"peer_served_blocks_total{peer}"] == 3
    assert exported[f"peer_served_bytes_total{peer}"] == 3 * BLOCK_BYTES - 5
    os.kill(other.status()["pid"], signal.SIGKILL)
    wait_for(lambda: not store.live_peers())
    with pytest.raises(InputError, match="/alone was in the memory"):
        files.cat_file("/alone")
    return store, peers["members"][0]["name"]


def test_metrics_report_the_exchange_with_other_stores(tmp_path: Path) -> None:
    with ExitStack() as stack:
        store, other = stores_that_met(stack, tmp_path)
        values = samples(metrics(store.status()))
        peer = f'{{peer="{other}"}}'
        assert values[f"peer_up{peer}"] == 0
        assert values[f"peer_read_blocks_total{peer}"] == 3
        assert values[f"peer_read_bytes_total{peer}"] == 3 * BLOCK_BYTES - 5
        assert values[f"peer_served_bytes_total{peer}"] == 0
        assert values[f"peer_read_rate_bytes_per_second{peer}"] > 0
        refused = {key: value for key, value in values.items() if "peer_refusals" in key}
        assert refused['peer_refusals_total{reason="malformed"}'] == 1
        assert refused['peer_refusals_total{reason="replayed"}'] == 0
        assert (len(refused), sum(refused.values())) == (7, 1)
        assert values["peer_losses_total"] >= 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_page_ends_with_the_store(how: signal.Signals, store: RunningStore) -> None:
    url = page.start(store.folder, 0)
    assert page.address(store.folder) == url
    os.kill(store.status()["pid"], how)
    wait_for(lambda: has_ended(url))
    wait_for(lambda: page.address(store.folder) is None)


def test_a_port_that_is_in_use_is_reported_in_a_line(store: RunningStore) -> None:
    port = urlsplit(page.start(store.folder, 0)).port
    assert port is not None
    with pytest.raises(InputError, match=f"--page {port}: address already in use"):
        page.start(store.folder, port)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@NEEDS_CHROMIUM
def test_a_browser_shows_it_until_the_store_ends(scheme: str, store: RunningStore) -> None:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    store.write("a", noise(1, 3 * BLOCK_BYTES))
    with fsspec.open("cuesta:///a") as file:
        file.read()
    url = page.start(store.folder, 0)
    messages: list[str] = []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 400, "height": 900}, color_scheme=scheme)
        tab.on("console", lambda event: messages.append(event.text))
        tab.on("pageerror", lambda event: messages.append(str(event)))
        tab.goto(url)
        tab.wait_for_selector(".tile .now:has-text('0.0%')")
        assert token_of(url) not in tab.url
        assert "192 KiB of 2 MiB" in tab.inner_text("body")
        assert tab.evaluate("document.documentElement.scrollWidth") == 400
        dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert dark == {"light": "rgb(251, 250, 247)", "dark": "rgb(21, 24, 26)"}[scheme]
        assert messages == []
        os.kill(store.status()["pid"], signal.SIGTERM)
        alarm = "#alarm:has-text('The store has ended')"
        tab.wait_for_selector(alarm, timeout=1000 * HANG_SECONDS)
        browser.close()


@NEEDS_CHROMIUM
def test_a_browser_shows_the_other_stores(tmp_path: Path) -> None:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with ExitStack() as stack:
        store, other = stores_that_met(stack, tmp_path)
        url = page.start(store.folder, 0)
        playwright = stack.enter_context(api.sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 400, "height": 900})
        messages: list[str] = []
        tab.on("console", lambda event: messages.append(event.text))
        tab.on("pageerror", lambda event: messages.append(str(event)))
        tab.goto(url)
        tab.wait_for_selector("#peers-title:has-text('0 of 1 answer')")
        row = tab.inner_text("#members tr").split()
        assert row[:2] == [other, "bypassed:"]
        assert "3 192 KiB" in " ".join(row)
        text = tab.inner_text("#exchange")
        assert "1 malformed, the last 127.0.0.1:" in text
        assert "/alone was in the memory" in text
        tiles = tab.inner_text("#tiles")
        assert "Read from other stores" in tiles
        assert "Given to other stores" in tiles
        assert tab.evaluate("document.documentElement.scrollWidth") == 400
        assert messages == []
        browser.close()


def test_a_watched_status_draws_in_place_and_ends_by_ctrl_c(store: RunningStore) -> None:
    main, terminal = pty.openpty()
    words = [sys.executable, "-m", "cuesta", "store", "status", "--watch"]
    environment = os.environ | {"NO_COLOR": "1", "TERM": "xterm"}
    process = subprocess.Popen(words, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    screen = b""
    while screen.count(b"from memory") < 2:
        screen += os.read(main, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    while True:
        try:
            screen += os.read(main, 4096)
        except OSError:
            break
    os.close(main)
    assert b"\033[2J" not in screen
    assert b"\033[36m" not in screen
    assert b"\033[?1049l" in screen
    assert b"\033[?25h" in screen
    assert store.status()["hits"] == 0


def simulation(*hits: tuple[str, int, int]) -> Simulation:
    outcomes = tuple(
        Simulated(
            policy=policy,
            admission=True,
            memory_bytes=memory,
            hit_reads=1,
            hit_bytes=size,
            filled_bytes=0,
        )
        for policy, memory, size in hits
    )
    return Simulation(reads=10, read_bytes=10_000, blocks=4, blocks_bytes=4096, outcomes=outcomes)


def test_the_least_memory_that_hits_what_any_hits_is_recommended(tmp_path: Path) -> None:
    outcomes = simulation(
        ("lru", 1024, 0), ("sieve", 1024, 8950), ("lru", 2048, 9000), ("sieve", 2048, 9000)
    )
    assert "Take sieve with 1 KiB: 89.5%" in recommendation(outcomes)
    written = curves.write(outcomes, Path("t.tsv"), tmp_path / "r.html").read_text()
    assert written.count('<svg class="chart') == 1
    assert "Take sieve with 1 KiB" in written
    assert "--memory" in written
    nothing = simulation(("lru", 1024, 0))
    assert "No memory" in recommendation(nothing)
    assert "largest" in recommendation(simulation(("lru", 1024, 5)))
