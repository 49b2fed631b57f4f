"""`images`: the results of scikit-image on its own images, for all forms of files and engines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuesta.cli.app import call
from cuesta.engines.mpi import MpiEngine
from cuesta.workloads.preview import preview

skimage = pytest.importorskip("skimage")
tifffile = pytest.importorskip("tifffile")

from skimage import filters, io, measure  # noqa: E402

label: Any = measure.label
threshold_otsu: Any = filters.threshold_otsu

needs_mpi = pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")

DATA = Path(skimage.__file__).parent / "data"
GREY = ("camera", "cell", "coins", "moon", "page", "text", "brick")
COLOUR = ("astronaut", "chelsea", "coffee", "ihc")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs and micrographs as TIFF and NumPy files, and a folder of pages."""
    folder = tmp_path_factory.mktemp("stack")
    for index, name in enumerate((*GREY, *COLOUR)):
        image = io.imread(DATA / f"{name}.png")
        if index % 2:
            tifffile.imwrite(folder / f"{name}.tif", image, compression="zlib", predictor=True)
        else:
            np.save(folder / f"{name}.npy", image)
    (folder / "pages").mkdir()
    shutil.copy(DATA / "multipage.tif", folder / "pages")
    shutil.copy(DATA / "multipage_rgb.tif", folder / "pages")
    (folder / "README.txt").write_text("what the images show")
    return folder


@pytest.fixture(scope="module")
def answer(stack: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answer that later answers are compared with."""
    return run(tmp_path_factory.mktemp("answer"), str(stack))


def run(folder: Path, *words: str) -> Path:
    output = folder / "answer"
    assert call(["run", "images", *words, "-o", str(output), "--overwrite"]) == 0
    return output


def record(answer: Path) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((answer / "run.json").read_text())
    return fields


def table(answer: Path) -> list[dict[str, str]]:
    header, *lines = (answer / "features.tsv").read_text().splitlines()
    names = header.split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


def same(first: Path, second: Path) -> None:
    assert (first / "features.tsv").read_bytes() == (second / "features.tsv").read_bytes()
    assert record(first)["answer"]["digest"] == record(second)["answer"]["digest"]
    assert record(first)["verified"]


def grey_of(image: Any) -> Any:
    """Return luma by the definition: in integers for integer images."""
    if image.ndim == 2:
        return image
    if image.dtype == np.float64:
        return 0.2125 * image[..., 0] + 0.7154 * image[..., 1] + 0.0721 * image[..., 2]
    red, green, blue = (image[..., index].astype(np.int64) for index in range(3))
    luma = (2125 * red + 7154 * green + 721 * blue + 5000) // 10_000
    return luma.astype(image.dtype)


def expected(image: Any, threshold: float | None = None, dark: bool = False) -> dict[str, Any]:
    """Return the result of scikit-image."""
    otsu = threshold_otsu(image) if threshold is None else threshold
    mask = image <= otsu if dark else image > otsu
    labels = label(mask)
    sizes = np.bincount(labels.ravel())[1:]
    return {
        "height": image.shape[0],
        "width": image.shape[1],
        "pixels": int(mask.sum()),
        "objects": int(labels.max()),
        "largest": int(sizes.max(initial=0)),
        "threshold": otsu,
    }


def check_row(row: dict[str, str], counts: dict[str, Any]) -> None:
    threshold = counts.pop("threshold")
    assert {name: int(row[name]) for name in counts} == counts, row["file"]
    assert float(row["threshold"]) == pytest.approx(float(threshold), rel=1e-12), row["file"]


def test_scikit_image_finds_the_same_in_its_images(stack: Path, answer: Path) -> None:
    rows = table(answer)
    files = sorted([*stack.glob("*.npy"), *stack.glob("*.tif"), *stack.glob("pages/*.tif")])
    number = 0
    for file in files:
        read = np.load if file.suffix == ".npy" else tifffile.imread
        image = read(file)
        pages = image if "multipage" in file.name else image[None]
        # The pages of a file hold the colours in sequence.
        pages = np.moveaxis(pages, 1, -1) if file.name == "multipage_rgb.tif" else pages
        for page, image in enumerate(pages):
            row = rows[number]
            assert (row["image"], row["file"], row["page"]) == (str(number), str(file), str(page))
            check_row(row, expected(grey_of(image)))
            number += 1
    assert number > len(GREY) + len(COLOUR)
    last = rows[number]
    assert [last[name] for name in ("image", "file", "threshold")] == ["all", "-", "-"]
    for name in ("pixels", "objects"):
        assert int(last[name]) == sum(int(row[name]) for row in rows[:-1])
    assert int(last["largest"]) == max(int(row["largest"]) for row in rows[:-1])
    counts = record(answer)["answer"]["counts"]
    assert (counts["images"], counts["objects"]) == (number, int(last["objects"]))
    assert [phase["name"] for phase in record(answer)["phases"]] == ["list", "images", "reduce"]


def test_a_float_stack_is_thresholded_as_scikit_image_does(tmp_path: Path) -> None:
    faces = np.load(DATA / "lfw_subset.npy")
    assert faces.dtype == np.float64
    rows = table(run(tmp_path, str(DATA / "lfw_subset.npy")))
    assert len(rows) == len(faces) + 1
    for row, face in zip(rows, faces, strict=False):
        check_row(row, expected(face))


def test_colours_and_dark_objects_and_small_ones(stack: Path, tmp_path: Path) -> None:
    path = next(stack.glob("chelsea.*"))
    image = io.imread(DATA / "chelsea.png")
    for index, channel in enumerate(("red", "green", "blue")):
        words = [str(path), "--channel", channel, "--objects", "dark"]
        check_row(table(run(tmp_path, *words))[0], expected(image[..., index], dark=True))
    words = [str(path), "--channel", "red", "--threshold", "120.5", "--min-pixels", "30"]
    (row, _) = table(run(tmp_path, *words))
    sizes = np.bincount(label(image[..., 0] > 120.5).ravel())[1:]
    assert row["threshold"] == "120.5"
    assert int(row["objects"]) == int((sizes >= 30).sum())
    assert int(row["pixels"]) == int((image[..., 0] > 120.5).sum())


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("form", ["npy", "none", "zlib", "tiled", "big"])
def test_all_forms_of_file_produce_the_same_counts(tmp_path: Path, dtype: str, form: str) -> None:
    coins = io.imread(DATA / "coins.png")
    image = coins.astype(dtype) * (257 if dtype == "uint16" else 1)
    path = tmp_path / ("x.npy" if form == "npy" else "x.tif")
    forms: dict[str, dict[str, Any]] = {
        "none": {"rowsperstrip": 7},
        "zlib": {"compression": "zlib", "predictor": dtype.startswith("uint")},
        "tiled": {"tile": (64, 80)},
        "big": {"bigtiff": True, "byteorder": ">"},
    }
    if form == "npy":
        np.save(path, image)
    else:
        tifffile.imwrite(path, image, **forms[form])
    (row, _) = table(run(tmp_path, str(path)))
    check_row(row, expected(image))


@pytest.mark.parametrize("more", [["--threads", "1"], ["--threads", "4"], ["--memory", "16MiB"]])
def test_threads_and_memory_do_not_change_a_byte(
    stack: Path, answer: Path, tmp_path: Path, more: list[str]
) -> None:
    same(run(tmp_path, str(stack), *more), answer)


@needs_mpi
@pytest.mark.parametrize("ranks", ["1", "3"])
def test_ranks_give_the_same_bytes(stack: Path, answer: Path, tmp_path: Path, ranks: str) -> None:
    same(run(tmp_path, str(stack), "--engine", "mpi", "--ranks", ranks), answer)


@needs_mpi
def test_more_ranks_than_images_and_a_bad_image_on_a_rank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stacks = tmp_path / "stacks"
    stacks.mkdir()
    np.save(stacks / "a.npy", np.arange(40.0).reshape(2, 4, 5))
    words = ["run", "images", str(stacks), "--engine", "mpi", "--ranks", "4"]
    assert call([*words, "-o", str(tmp_path / "one")]) == 0
    np.save(stacks / "b.npy", np.full((1, 4, 5), np.inf))
    assert call([*words, "-o", str(tmp_path / "two")]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert "image 2 (page 0 of " in message
    assert "has inf at row 0, column 0" in message


def test_made_images_show_their_discs(tmp_path: Path) -> None:
    path = tmp_path / "discs.npy"
    words = ["data", "make", "images", "--images", "3", "--height", "200", "--width", "300"]
    assert call([*words, "--discs", "9", "--seed", "4", "-o", str(path)]) == 0
    images = np.load(path)
    assert (images.shape, images.dtype) == ((3, 200, 300), np.uint8)
    rows = table(run(tmp_path, str(path), "--min-pixels", "4"))
    for row in rows[:-1]:
        assert 1 <= int(row["objects"]) <= 9
    (view,) = preview("images", tmp_path / "answer", {})
    assert isinstance(view["rows"], list)
    assert len(view["rows"]) == 3
    assert view["rows"][0][1] == "discs.npy"


def test_bad_input_is_reported_in_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def saved(name: str, values: Any) -> str:
        np.save(tmp_path / name, values)
        return str(tmp_path / name)

    def paged(name: str, values: Any, **options: Any) -> str:
        tifffile.imwrite(tmp_path / name, values, **options)
        return str(tmp_path / name)

    good = saved("good.npy", np.arange(40, dtype=np.uint8).reshape(5, 8))
    noise = np.random.default_rng(1).integers(0, 255, (50, 60), dtype=np.uint8)
    cut_file = Path(paged("cut.tif", noise))
    cut_file.write_bytes(cut_file.read_bytes()[:-100])
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "x.png").write_bytes((DATA / "coins.png").read_bytes())
    palette = np.zeros((3, 256), np.uint16)
    cases: list[tuple[list[str], str]] = [
        ([saved("nan.npy", np.full((2, 3), np.nan))], "image 0 (page 0 of "),
        ([saved("whole.npy", np.ones((20, 2), int))], "of type <i8; save it as uint8"),
        ([saved("flat.npy", np.ones(20))], "give images as (height, width)"),
        ([saved("none.npy", np.ones((0, 2, 2)))], "holds no image"),
        ([saved("thin.npy", np.ones((2, 0, 2)))], "has images of 0 x 2 pixels"),
        ([saved("order.npy", np.asfortranarray(np.ones((20, 2))))], "Fortran order"),
        ([str(cut_file)], "cut.tif is cut short; obtain it again"),
        ([paged("signed.tif", noise.astype(np.int16))], "numbers of 16 bits (Int)"),
        ([paged("index.tif", noise, photometric="palette", colormap=palette)], "page 0 of "),
        ([paged("ink.tif", np.zeros((4, 5, 4), np.uint8), photometric="separated")], "CMYK (8"),
        ([str(DATA / "coins.png")], "is a PNG file; save it as TIFF or .npy"),
        ([str(tmp_path / "empty")], "holds no image; give .tif, .tiff or .npy"),
        ([good, "--threshold", "bright"], "--threshold is"),
        ([good, "--min-pixels", "0"], "--min-pixels is 0"),
        ([good, "--channel", "red"], "is grey and has no red; give --channel luma"),
        ([good, "--engine", "spark-scala"], "images"),
        ([str(tmp_path / "nowhere.npy")], "no such file"),
        ([], "Missing argument 'IMAGES'"),
    ]
    for words, message in cases:
        assert call(["run", "images", *words, "-o", str(tmp_path / "a")]) in (2, 3), words
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("cuesta: "), last
        assert message in last, last
        assert not (tmp_path / "a").exists()
