"""Initial corpus of each target of `fuzz.py`: small inputs that reach deep."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence

GENES = b"gene\tname\n1\tA1BG\n2\tTP53\n"
V1 = b"7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000,nan,-0.5\t11910711\n"
V3 = b"2\t1\t1\t1\t6\t0.950000\t111111\n1\t0\t0\t5\t6\t-0.900000\t116011\n"
FASTQ = b"@a\nACGT\n+\nI@+I\n@b\nNACG\n+b\n@III\n"
FASTA = b">a\r\nACGT\r\nAC\r\n>b\r\nTTT\r\n"
SHORT, LONG = 3, 4
"""Types of TIFF: numbers of 16 and of 32 bits."""
MUTATIONS_MAX = 4
EXTREMES = (b"\x00", b"\xff", b"\x7f\xff", b"\xff" * 4, b"\xff" * 8, b"\0" * 8, b"\0\0\0\x80")
"""Bytes of numbers at the ends of their ranges, in either byte order."""
SIGNS = (b"\n", b"\r", b"\t", b",", b";", b"-", b"1e999", b"nan", b'"', b"#", b">", b"\xef\xbb\xbf")
"""Parts of texts that parsers treat in a way of their own."""


def seeds() -> Mapping[str, Sequence[bytes]]:
    """Inputs by target."""
    return {
        "checkpoint": _checkpoint(),
        "edges": (b"\x02\x09" + V1 * 3, b"\x40\x05#x\n" + V3, b"\x80\x30" + V1 + V3[:-1]),
        "fasta": (b">7\nACGT\n>12 circular\nTT\n", b">1\nAC\n" * 40),
        "kinc": (
            b"\x032\t1\t1\t1\t6\t0\t0\t0\t0\t0.950000\t111111\n",
            b"\x4b7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871,nan,-0.5\t119107\r\n#Done\n\n",
            b"\x021\t0\t0\t5\t6\t-0.9\t111011\n3\t2\t1\t6\t6\tnan\t111111\n",
            b"\x02" + V1 * 5,
            b"\x02" + V3 * 5,
        ),
        "matrix": (
            b"\x00a\tb\ng1\t1\t2.5\ng2\tNA\t-3e-2\n",
            b'\x01"id","a","b"\r\n"g1",1,2\r\n',
            b"\x42g1\t-9\t0\ng2\t1\tnan\n",
        ),
        "names": (GENES, b"A1BG\r\nTP53\r\n", b"a\tb\ng1\t1\t2\n", gzip.compress(GENES, mtime=0)),
        "npy": (
            b"\x01" + npy("<f4", "(3, 2)", 24),
            b"\x00" + npy("<f8", "(2, 1)", 16),
            b"\x00" + npy("|u1", "(2, 2, 3)", 12),
            b"\x00" + npy("<u2", "(1, 2, 2, 4)", 32),
        ),
        "pair_matrix": tuple(
            struct.pack("<BBBHBB", kind, file, kind, 60 * file, 9, file)
            for file in range(0, 60, 4)
            for kind in range(8)
        ),
        "peer_frames": _peer_frames(),
        "points": (b"\x00# x y\n1,2\n3;4e-1\n", b"\x011 2 3\r\n-4\t5 nan\r\n\n7 8 inf"),
        "reads": (
            b"\x09" + FASTQ,
            b"\x05" + FASTA,
            b"\x03" + FASTQ + b"=\n" + FASTQ,
            b"\x05" + gzip.compress(FASTQ, mtime=0),
            b"\x05" + bz2.compress(FASTQ),
            b"\x05" + lzma.compress(FASTQ),
            b"\x07\xef\xbb\xbf" + FASTQ,
            b"\x07@a\nAC\nGT\n+\nI@\n+I\n\n@b\n\n+\n\n",
        ),
        "records": (b"\x03\x02\x09\xff\x05\x00\x07", b"\x01\x00\x05\x01\x03\x04"),
        "sparse_matrix": tuple(_sparse_matrix(order, width) for order in (0, 1) for width in "fd"),
        "tiff": tuple(
            tiff(order, bits, samples, compression)
            for order in "<>"
            for bits, samples in ((8, 1), (16, 3), (32, 1), (64, 4))
            for compression in (1, 8)
        ),
        "wire": _wire(),
    }


def mutants(name: str, inputs: Sequence[bytes], count: int) -> Iterator[bytes]:
    """Inputs with a few random changes; the same ones for a name in every run."""
    draw = random.Random(name)
    for _ in range(count):
        content = bytearray(draw.choice(inputs))
        for _ in range(draw.randint(1, MUTATIONS_MAX)):
            _mutate(content, draw, inputs)
        yield bytes(content)


def _mutate(content: bytearray, draw: random.Random, inputs: Sequence[bytes]) -> None:
    """Flip a bit; replace, remove or repeat a part; insert a sign or a part of another input."""
    start = draw.randrange(len(content) + 1)
    end = min(len(content), start + draw.choice((1, 2, 4, 8, 40)))
    other = draw.choice(inputs)
    match draw.randrange(6):
        case 0 if start < end:
            content[start] ^= 1 << draw.randrange(8)
        case 1:
            extreme = draw.choice(EXTREMES)
            content[start : start + len(extreme)] = extreme
        case 2:
            del content[start:end]
        case 3:
            content[end:end] = content[start:end] * draw.choice((1, 2, 30))
        case 4:
            content[start:start] = draw.choice(SIGNS)
        case _:
            content[start:] = other[draw.randrange(len(other)) :]


def _sparse_matrix(order: int, width: str) -> bytes:
    """Write a sparse matrix of two genes and two samples, without its checksum."""
    names, values = b"a\nb\ns\nt\n", [1.5, -2.0, 3.0]
    head = struct.pack("<8s4I4Q", b"CUESTASP", 1, order, struct.calcsize(width), 0, 2, 2, 3, 8)
    return head + names + struct.pack(f"<3Q3I3{width}", 0, 2, 3, 0, 1, 1, *values)


def npy(descr: str, shape: str, size_bytes: int) -> bytes:
    """An array of counting bytes."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.encode() + bytes(range(size_bytes))


def tiff(order: str, bits: int, samples: int, compression: int) -> bytes:
    """A page of 2 x 3 pixels in two strips."""
    row = bytes(3 * samples * bits // 8)
    strips = [row if compression == 1 else zlib.compress(row)] * 2
    fields = [
        (256, LONG, [3]),
        (257, LONG, [2]),
        (258, SHORT, [bits] * samples),
        (259, SHORT, [compression]),
        (262, SHORT, [1 if samples == 1 else 2]),
        (273, LONG, [8, 8 + len(strips[0])]),
        (277, SHORT, [samples]),
        (278, LONG, [1]),
        (279, LONG, [len(strip) for strip in strips]),
        (339, SHORT, [3 if bits > 16 else 1] * samples),
    ]
    if samples == 4:
        fields.insert(-1, (338, SHORT, [2]))
    start = 8 + sum(map(len, strips))
    behind = start + 2 + 12 * len(fields) + 4
    entries, lists = b"", b""
    for tag, kind, values in fields:
        content = struct.pack(f"{order}{len(values)}{'H' if kind == SHORT else 'I'}", *values)
        if len(content) > 4:
            content, lists = struct.pack(order + "I", behind + len(lists)), lists + content
        entries += struct.pack(order + "HHI", tag, kind, len(values)) + content.ljust(4, b"\0")
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, start)
    directory = struct.pack(order + "H", len(fields)) + entries + bytes(4)
    return head + b"".join(strips) + directory + lists


def _checkpoint() -> Sequence[bytes]:
    tally = struct.pack("<4Q", 9, 8, 7, 6)
    places = struct.pack("<4Q", 1, 0, 200, 0) + struct.pack("<2Q", 0, 0)
    facts = struct.pack("<IQ", 3, 99) + tally + struct.pack("<I", 0) + _spectrum()
    level = (
        b'{"k":15,"min_count":2,"fit":{"min_count":2,"depth":1.0,"deviation":1.0,'
        b'"genome_size":9,"error_rate":0.1},"distinct":9,"solid":9,"read_bases":9,'
        b'"unitigs":1,"rounds":[],"mates":null}'
    )
    state = b'{"run":{},"sizes":[],"mates":null,"levels":[' + level + b"]}"
    return (
        b"\x00" + _frame(places) + _frame(tally),
        b"\x01" + _frame(facts) + _frame(_fragment()) + _frame(b""),
        b"\x02" + _frame(level) + _frame(_fragment()) + _frame(b""),
        b"\x03" + state,
        b"\x04" + _solid(),
    )


def _wire() -> Sequence[bytes]:
    tally = struct.pack("<4Q", 9, 8, 7, 6)
    block = struct.pack("<II", 5, 3) + b"abc" + struct.pack("<II", 0xFFFFFFFF, 32) + tally
    name = struct.pack("<I", 4) + b"glue" + struct.pack("<3Q", 1, 2, 3)
    facts = struct.pack("<IQ", 3, 99) + tally + struct.pack("<I", 1) + name + _spectrum()
    vertex = bytes(16) + bytes(2) + b"\0" + bytes(8) + b"\0" + _fragment()
    rows = struct.pack("<4Q", 1, 2, 9, 5) + bytes(24)
    neighbours = struct.pack("<3Q", 2, 1, 3) + bytes(12)
    return (
        b"\x00" + block,
        b"\x01" + _fragment() * 2,
        b"\x02" + _solid(),
        b"\x03" + facts + _fragment(),
        b"\x04" + _spectrum(),
        b"\x05\x03" + _fragment(),
        b"\x05\x03" + struct.pack("<Q", 1) + vertex,
        b"\x06" + rows * 2,
        b"\x07" + neighbours,
        b"\x08\x01" + bytes(8) + b"\x01\x02\x03\x02hi\x01\x01\x05" + bytes(4) + b"\x01\x01x",
        b"\x09\x00\x0a\x00\x01" + bytes(8) + b"\x01" + b"\x00\x01" + bytes(8) + b"\x01",
        b"\x09\x01\x05" + bytes(9),
        b"\x09\x02\x05" + bytes(9),
    )


def _frame(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def _fragment() -> bytes:
    return struct.pack("<BQIII", 3, 12, 4, 5, 0) + struct.pack("<I", 6) + b"\x1b\x05"


def _solid() -> bytes:
    return struct.pack("<HB", 2, 1) + struct.pack("<I", 5) + b"\x1b\x01"


def _spectrum() -> bytes:
    return struct.pack("<I", 2) + struct.pack("<IQIQ", 1, 50, 20000, 2)


def _peer_frames() -> Sequence[bytes]:
    """A hello, heads of messages, and questions."""
    keys = b"\x01" + bytes(8)
    hello = b"cuestap2" + bytes(32) + keys + b"\x03a:1\x03b:1" + bytes(32)
    file = b"0" * 32
    questions = (
        b'{"do":"ping"}',
        b'{"do":"read","file":"%s","index":1,"offset":2,"bytes":3}' % file,
        b'{"do":"tell","telling":{"is_first":true,"here":[["%s",1]],"gone":[],"names":[{"path":"a",'
        b'"id":"%s","size_bytes":1,"closed_ns":1}],"no_names":["b"],"all_by":7}}' % (file, file),
        b'{"do":"where","file":"%s","indexes":[0,7]}' % file,
    )
    answers = (
        b'\x04{"is":"places","places":{"stores":["a:1","b:1"],"holders":[[0],[],[1,0]]}}',
        b'\x05{"do":"places","path":"a","first":0,"count":3}',
        b'\x05{"do":"lease","number":1,"index":2}',
    )
    head = struct.pack("<II", 6, 3)
    framed = (b"\x01" + head + b'"text"abc' + bytes(32), b"\x01" + struct.pack("<II", 1 << 30, 0))
    framed_questions = (b"\x03" + question for question in questions)
    return (b"\x00" + hello, *framed, b"\x02\x09\x01payload", *framed_questions, *answers)
