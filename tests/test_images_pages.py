"""Pages of TIFF files of all kinds: read as tifffile reads them, or refused with the remedy."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuesta.cli.app import call

tifffile = pytest.importorskip("tifffile")
pytest.importorskip("scipy")

from scipy import ndimage  # noqa: E402

THRESHOLD = 100
Rows = list[dict[str, str]]


def squares(count: int, kind: str = "uint8") -> Any:
    """Return a picture of this number of bright squares of 8 x 8 pixels, far apart, shifted by
    count.
    """
    image = np.full((64, 80), 10, dtype=kind)
    for number in range(count):
        row, column = 4 + 20 * (number // 3), 4 + 24 * (number % 3)
        image[row : row + 8, column : column + 8] = 200
    return image


def objects(image: Any) -> int:
    """Return SciPy's number of objects in an image; pixels touch by a side or a corner."""
    return int(ndimage.label(image > THRESHOLD, structure=np.ones((3, 3)))[1])


def rows_of(path: Path, output: Path) -> Rows:
    """Count the objects of the images at a path; return the rows without the sums."""
    words = ["run", "images", str(path), "--threshold", str(THRESHOLD), "-o", str(output)]
    assert call(words) == 0
    header, *lines = (output / "features.tsv").read_text().splitlines()
    names = header.split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines[:-1]]


def refusal(path: Path, capsys: pytest.CaptureFixture[str], folder: Path) -> str:
    """Return the line that refuses the images at a path."""
    capsys.readouterr()
    assert call(["run", "images", str(path), "-o", str(folder / "out")]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("cuesta: ")
    assert not (folder / "out").exists()
    return line


FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "deflate": {"compression": "zlib"},
    "deflate with predictor": {"compression": "zlib", "predictor": True},
    "lzw": {"compression": "lzw"},
    "zstd": {"compression": "zstd"},
    "packbits": {"compression": "packbits"},
    "tiles": {"tile": (16, 32)},
    "tiles, deflate": {"tile": (32, 16), "compression": "zlib"},
    "strips": {"rowsperstrip": 7},
    "big": {"bigtiff": True},
    "big-endian": {"byteorder": ">"},
    "big, big-endian": {"bigtiff": True, "byteorder": ">"},
    "imagej": {"imagej": True},
    "ome": {"ome": True},
    "shaped": {"metadata": {"axes": "ZYX"}},
}


@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_as_tifffile_reads_it(form: str, kind: str, tmp_path: Path) -> None:
    if form == "deflate with predictor" and kind == "float32":
        pytest.skip("tifffile needs a package for it")
    stack = np.stack([squares(count, kind) for count in (1, 4, 2)])
    path = tmp_path / "a.tif"
    try:
        tifffile.imwrite(path, stack, photometric="minisblack", **FORMS[form])
    except (ValueError, KeyError, ImportError) as error:
        pytest.skip(f"tifffile does not write it here: {error}")
    if form == "imagej" and len(tifffile.TiffFile(path).pages) != len(stack):
        pytest.skip("a stack in one directory has a test of its own")
    rows = rows_of(path, tmp_path / "out")
    with tifffile.TiffFile(path) as file:
        expected = [objects(page.asarray()) for page in file.pages]
    assert [int(row["objects"]) for row in rows] == expected == [1, 4, 2]
    assert [int(row["page"]) for row in rows] == [0, 1, 2]


@pytest.mark.parametrize("planes", ["contig", "separate"])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_colours_are_read_in_planes_and_pixel_by_pixel(
    planes: str, compression: str | None, tmp_path: Path
) -> None:
    image = np.stack([squares(3), squares(1), squares(0)])
    pixels = image if planes == "separate" else np.moveaxis(image, 0, 2)
    options = {"photometric": "rgb", "planarconfig": planes, "compression": compression}
    tifffile.imwrite(tmp_path / "a.tif", pixels, **options)
    output = tmp_path / "out"
    words = ["run", "images", str(tmp_path / "a.tif"), "--threshold", "100"]
    for channel, expected in (("red", 3), ("green", 1), ("blue", 0)):
        assert call([*words, "--channel", channel, "-o", str(output), "--overwrite"]) == 0
        line = (output / "features.tsv").read_text().splitlines()[1]
        assert int(line.split("\t")[7]) == expected


def test_thumbnails_and_masks_are_passed_over(tmp_path: Path) -> None:
    """Objects of a thumbnail were counted twice in the sums. Now thumbnails are skipped."""
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        file.write(squares(5)[::2, ::2], subfiletype=1, photometric="minisblack")
        file.write(squares(3), photometric="minisblack")
        file.write(squares(3)[::2, ::2], subfiletype=1, photometric="minisblack")
        file.write(squares(2) > THRESHOLD, subfiletype=4, photometric="minisblack")
        file.write(squares(2), subfiletype=2, photometric="minisblack")
    rows = rows_of(path, tmp_path / "out")
    assert [(row["page"], row["objects"]) for row in rows] == [("1", "3"), ("4", "2")]
    assert call(["verify", str(tmp_path / "out")]) == 0


def test_levels_of_a_pyramid_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.ome.tif"
    with tifffile.TiffWriter(path) as file:
        file.write(squares(3), subifds=1, photometric="minisblack")
        file.write(squares(3)[::2, ::2], subfiletype=1, photometric="minisblack")
    assert [row["objects"] for row in rows_of(path, tmp_path / "out")] == ["3"]


def test_thumbnails_alone_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, squares(3), subfiletype=1, photometric="minisblack")
    assert "holds thumbnails and masks alone" in refusal(path, capsys, tmp_path)


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "white as zero": (squares(1), {"photometric": "miniswhite"}, "white as zero"),
    "white as zero, 16 bits": (squares(1, "uint16"), {"photometric": "miniswhite"}, "new.tif"),
    "a mask of one bit": (squares(1) > 9, {"photometric": "minisblack"}, "of one bit"),
    "signed": (squares(1, "int16"), {"photometric": "minisblack"}, "unsigned 8 or 16 bits"),
    "32 bits": (squares(1, "uint32"), {"photometric": "minisblack"}, "unsigned 8 or 16 bits"),
    "half precision": (squares(1, "float16"), {"photometric": "minisblack"}, "16 bits"),
    "palette": (
        squares(1),
        {"photometric": "palette", "colormap": np.zeros((3, 256), dtype="uint16")},
        "grey or RGB",
    ),
    "cmyk": (np.zeros((8, 8, 4), dtype="uint8"), {"photometric": "separated"}, "grey or RGB"),
    "grey with alpha": (
        np.zeros((8, 8, 2), dtype="uint8"),
        {"photometric": "minisblack", "planarconfig": "contig", "extrasamples": ["unassalpha"]},
        "(8 bits, 2 samples a pixel) pixels; save it as grey or RGB",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_two_meanings_or_another_type_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """White as zero was inverted, and the answer still "verified". Now such files are refused."""
    image, options, expected = REFUSED[name]
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, image, **options)
    line = refusal(path, capsys, tmp_path)
    assert expected in line
    assert f"page 0 of {path}" in line


@pytest.mark.parametrize(
    ("page", "options"),
    [(squares(1), {"photometric": "miniswhite"}), (squares(1) > THRESHOLD, {})],
)
def test_the_remedy_of_a_page_keeps_all_pages(
    page: Any, options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The remedy saved the first series alone: of two images one was lost. It keeps all pages."""
    old, new = tmp_path / "old.tif", tmp_path / "new.tif"
    with tifffile.TiffWriter(old) as file:
        file.write(squares(4)[::2, ::2], subfiletype=1, photometric="minisblack")
        file.write(squares(3, "uint16"), photometric="minisblack")
        file.write(page, **options)
        file.write(np.stack([squares(2)] * 3, axis=2), photometric="rgb")
    line = refusal(old, capsys, tmp_path)
    start, end = line.index("with tifffile."), line.index(".pages]") + len(".pages]")
    command = line[start:end].replace("old.tif", str(old)).replace("new.tif", str(new))
    exec(command, {"tifffile": tifffile, "numpy": np})
    assert len(rows_of(new, tmp_path / "out")) == 3
    with tifffile.TiffFile(new) as file:
        assert [str(part.dtype) for part in file.pages] == ["uint8", "uint16", "uint8", "uint8"]


@pytest.mark.parametrize(("shape", "images"), [((60, 60, 1), 1), ((2, 30, 60, 1), 2)])
def test_grey_arrays_with_a_last_size_of_1_are_images(
    shape: tuple[int, ...], images: int, tmp_path: Path
) -> None:
    """Rows of Keras' grey image were images of one column. Now its last size is the colour."""
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3600, dtype="uint16").reshape(shape))
    rows = rows_of(path, tmp_path / "out")
    assert [(row["height"], row["width"]) for row in rows] == [
        (str(shape[-3]), str(shape[-2]))
    ] * images


def twelve_bits(path: Path) -> None:
    """Write a grey page of 12 bits, which tifffile can only read."""
    data = bytes(64 * 64 * 3 // 2)
    tags = [(256, 64), (257, 64), (258, 12), (259, 1), (262, 1), (273, 8), (277, 1), (278, 64)]
    tags.append((279, len(data)))
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    start = struct.pack("<2sHI", b"II", 42, 8 + len(data))
    path.write_bytes(start + data + struct.pack("<H", len(tags)) + entries + bytes(4))


def test_twelve_bits_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twelve_bits(tmp_path / "a.tif")
    assert "12 bits" in refusal(tmp_path / "a.tif", capsys, tmp_path)


def test_a_stack_of_imagej_in_a_single_page_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A single image of five was counted, and the answer still "verified". Now such a stack is
    refused.
    """
    text = b"ImageJ=1.54f\nimages=5\nslices=5\nunit=\xb5m\nloop=false\n"
    path = tmp_path / "a.tif"
    options = {"photometric": "minisblack", "metadata": None}
    tifffile.imwrite(path, squares(1), description=text, **options)
    line = refusal(path, capsys, tmp_path)
    assert "it has 5 images and has 1 in pages" in line
    assert "tifffile.imwrite" in line
    tifffile.imwrite(path, squares(1), description=text.replace(b"=5", b"=1"), **options)
    assert len(rows_of(path, tmp_path / "out")) == 1


def plane(name: str, number: int) -> str:
    return f'<TiffData IFD="0" FirstZ="{number}"><UUID FileName="{name}">urn</UUID></TiffData>'


def test_a_set_of_ome_files_is_read_in_full_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    names = ["a.ome.tif", "b.ome.tif"]
    planes = "".join(plane(name, number) for number, name in enumerate(names))
    text = f"<OME><Image><Pixels>{planes}</Pixels></Image></OME>"
    for number, name in enumerate(names):
        tifffile.imwrite(
            folder / name, squares(number + 1), description=text, metadata=None,
            photometric="minisblack",
        )  # fmt: skip
    line = refusal(folder / names[0], capsys, tmp_path)
    assert "is one of 2 files of an OME-TIFF, and b.ome.tif is not among the inputs" in line
    assert [row["objects"] for row in rows_of(folder, tmp_path / "out")] == ["1", "2"]
    alone = tmp_path / "renamed.tif"
    text = f"<OME><Image><Pixels>{plane('a.ome.tif', 0)}</Pixels></Image></OME>"
    tifffile.imwrite(alone, squares(2), description=text, metadata=None, photometric="minisblack")
    assert [row["objects"] for row in rows_of(alone, tmp_path / "alone")] == ["2"]


def test_a_picture_of_the_web_is_refused_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.tif"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    assert "is a PNG file; save it as TIFF or .npy" in refusal(path, capsys, tmp_path)
