"""Separate disks of a trial: files as block devices with a file system, a rate and folders."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from cuesta import machine, removal
from cuesta.errors import EngineError, InputError, in_words
from cuesta.units import format_bytes, format_rate
from cuesta_lab.machines import groups, seeking
from cuesta_lab.machines.factors import INPUT, OUTPUT, SCRATCH, MachineFactors
from cuesta_lab.machines.journal import Journal, Step
from cuesta_lab.machines.place import Place
from cuesta_lab.machines.system import find_command, output_of, succeeds, write

SIZE_BYTES = 2 << 30
"""Default room of a disk in addition to its share of the inputs."""

MISS_MAX = 0.3
"""Largest relative deviation of a rate from the requested one."""

PROBE_SECONDS = 0.5
PROBE_BYTES_MIN = 4 << 20
PROBE_BYTES_MAX = 64 << 20
PROBE_SEEKS = 16
SEEK_MISS_MAX = 1.0
"""Largest relative excess of the time of a random read over the requested time of a seek."""
PROBES_MAX = 12
"""Most measurements of a rate before it counts as missed. Other programs may use the machine too,
and the kernel delays writers by the recent speed of a device: a loop device that was slow remains
slow for seconds, whatever its limit is now."""

FOLDER = "folder"
LOOP = "loop"
SEEK = "seek"
MOUNT = "mount"
DIRTY = "dirty"
_WRITEBACK = Path("/sys/class/bdi")
"""Folder of the kernel's settings for writing back pages, by `MAJOR:MINOR` of a device."""
_MAKE = {
    "ext2": ("-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=0"),
    "ext3": ("-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=0"),
    "ext4": ("-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("-q", "-f", "-K"),
    "btrfs": ("-q", "-f", "-K"),
}
"""Options of each file system that leave no work for later, during the trial."""

_PACKAGES = {"xfs": "xfsprogs", "btrfs": "btrfs-progs"}


def refusal(factors: MachineFactors) -> str | None:
    """Reason why such disks are impossible here, or None."""
    program = f"mkfs.{factors.file_system}"
    if not Path("/dev/loop-control").exists():
        return "machine factor disks needs loop devices, and /dev/loop-control is not there"
    if not find_command(program):
        package = _PACKAGES.get(factors.file_system, "e2fsprogs")
        return f"machine factor file-system needs {program}: apt-get install {package}"
    for command in ("losetup", "mount", "umount"):
        if not find_command(command):
            return f"machine factor disks needs the command {command}: apt-get install mount"
    if factors.dirty_bytes and not any(_WRITEBACK.glob("*/max_bytes")):
        return f"machine factor disk-dirty needs Linux 6.2: no max_bytes in {_WRITEBACK}"
    if factors.seek_seconds and not Path("/dev/fuse").exists():
        return "machine factor disk-seek needs FUSE, and /dev/fuse is not there"
    return groups.refusal("disk-rate") if factors.disk_bytes_per_s else None


def make(journal: Journal, factors: MachineFactors, place: Place) -> Place:
    """Add disks to a place, and copy its inputs to them. Errors: `InputError`."""
    disks_folder = place.folder.absolute() / f"cuesta-disks.partial-{os.getpid()}"
    size = factors.disk_bytes or SIZE_BYTES + 2 * _input_bytes(factors, place) // factors.disks
    _check_room(place.folder, size, factors.disks)
    journal.note(FOLDER, path=str(disks_folder))
    removal.make_marked(disks_folder)
    disks = tuple(
        _disk(journal, disks_folder / str(index), size, factors) for index in range(factors.disks)
    )
    place = replace(_with_folders(place, disks, factors), disks=disks)
    if place.input_folders:
        place = replace(place, inputs=_put(place.inputs, place.input_folders))
    return place


def hold(journal: Journal, factors: MachineFactors, place: Place) -> Place:
    """Limit the disks of a place to their rate, and measure it.

    Errors: `InputError` if a disk misses its rate.
    """
    all_groups = tuple(group for node in place.nodes for group in node.groups)
    for disk in place.disks if factors.disk_bytes_per_s else ():
        groups.throttle(journal, _number(disk), factors.disk_bytes_per_s or 0, all_groups)
    for disk in place.disks if factors.dirty_bytes else ():
        _bound(journal, _WRITEBACK / _number(disk), factors.dirty_bytes or 0)
    return replace(place, probed={**place.probed, **_probe(factors, place)})


def undo_folder(step: Step) -> None:
    """Remove the files behind the disks, which are no longer mounted."""
    folder = Path(step["path"])
    if any(os.path.ismount(path) for path in folder.glob("*")):
        raise EngineError(f"{folder}: a disk is still mounted; unmount it with `umount`")
    removal.remove_marked(folder)


def undo_loop(step: Step) -> None:
    """Detach the loop device of a file."""
    for line in output_of("disks", ["losetup", "-j", step["path"]]).splitlines():
        output_of("disks", ["losetup", "-d", line.partition(":")[0]])


def undo_mount(step: Step) -> None:
    """Unmount a disk, at the latest when none of its files is open."""
    path = step["path"]
    if os.path.ismount(path) and not succeeds(["umount", path]):
        output_of("disks", ["umount", "-l", path])


def undo_dirty(step: Step) -> None:
    """Restore the default limits of dirty pages of a device."""
    for name, value in (("max_ratio", "100"), ("strict_limit", "0")):
        Path(step["path"], name).write_text(value)


def _bound(journal: Journal, writeback: Path, most: int) -> None:
    """Block writers once `most` bytes are in memory only. Errors: `InputError`."""
    journal.note(DIRTY, path=str(writeback))
    write("disk-dirty", writeback / "strict_limit", "1")
    write("disk-dirty", writeback / "max_bytes", str(most))


def _disk(journal: Journal, mount: Path, size: int, factors: MachineFactors) -> Path:
    """Make a disk and return its mount point."""
    file = mount.with_suffix(".disk")
    with file.open("wb") as out:
        # Its room is allocated now, so that the trial does not wait for it or lack it.
        os.posix_fallocate(out.fileno(), 0, size)
    if factors.seek_seconds:
        journal.note(SEEK, path=str(file))
        seeking.start(file, factors.seek_seconds)
    journal.note(LOOP, path=str(file))
    device = _loop(file)
    output_of("file-system", [f"mkfs.{factors.file_system}", *_MAKE[factors.file_system], device])
    mount.mkdir()
    journal.note(MOUNT, path=str(mount))
    options = ["-t", factors.file_system, "-o", "noatime"]
    output_of("file-system", ["mount", *options, device, str(mount)])
    return mount


def _number(mount: Path) -> str:
    """`MAJOR:MINOR` of the device behind a disk."""
    file = mount.with_suffix(".disk")
    device = output_of("disks", ["losetup", "-j", str(file)]).partition(":")[0]
    return Path("/sys/block", Path(device).name, "dev").read_text().strip()


def _loop(file: Path) -> str:
    """Attach a loop device to a file, with direct I/O if its file system allows that."""
    command = ["losetup", "-f", "--show"]
    try:
        return output_of("disks", [*command, "--direct-io=on", str(file)])
    except InputError:
        return output_of("disks", [*command, str(file)])


def _with_folders(place: Place, disks: Sequence[Path], factors: MachineFactors) -> Place:
    folders = {}
    for kind in sorted(factors.disk_holds):
        folders[kind] = tuple(disk / kind for disk in disks)
        for folder in folders[kind]:
            folder.mkdir()
    return replace(
        place,
        input_folders=folders.get(INPUT, ()),
        scratch_folders=folders.get(SCRATCH, ()),
        output_folders=folders.get(OUTPUT, ()),
    )


def _put(inputs: Sequence[str], folders: Sequence[Path]) -> tuple[str, ...]:
    """Copy the inputs, with their files on the disks in turn.

    A folder remains one folder: on the first disk, with links to files on the other disks. An input
    that is not here, such as a URI, is unchanged.
    """
    turn = iter(range(1 << 62))
    copies = []
    for number, name in enumerate(inputs):
        source, subfolder = Path(name), f"{number}"
        if not source.exists():
            copies.append(name)
            continue
        if not source.is_dir():
            target = folders[next(turn) % len(folders)] / subfolder / source.name
            _copy(source, target)
            copies.append(str(target))
            continue
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            inner = Path(subfolder, source.name) / file.relative_to(source)
            folder = folders[next(turn) % len(folders)]
            _copy(file, folder / inner)
            if folder != folders[0]:
                (folders[0] / inner).parent.mkdir(parents=True, exist_ok=True)
                (folders[0] / inner).symlink_to(folder / inner)
        copies.append(str(folders[0] / subfolder / source.name))
    return tuple(copies)


def _copy(source: Path, target: Path) -> None:
    """Copy a file, and drop its pages from memory."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise InputError(f"machine factor disk-holds: {target}: {in_words(error)}") from None
    with target.open("rb") as copied:
        os.fsync(copied.fileno())
        os.posix_fadvise(copied.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _input_bytes(factors: MachineFactors, place: Place) -> int:
    if INPUT not in factors.disk_holds:
        return 0
    paths = [Path(name) for name in place.inputs]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file())


def _check_room(folder: Path, size: int, disks: int) -> None:
    free = machine.free_bytes(folder)
    if size * disks > free:
        raise InputError(
            f"machine factor disk-size: {disks} x {format_bytes(size)} are more than the "
            f"{format_bytes(free)} that are free in {folder}; choose another folder"
        )


def _probe(factors: MachineFactors, place: Place) -> dict[str, float]:
    """Measure the rates of each disk. Errors: `InputError` if one is missed by far."""
    rate = factors.disk_bytes_per_s
    probed: dict[str, float] = {}
    for index, disk in enumerate(place.disks):
        measured: dict[str, float] = {}
        for _ in range(PROBES_MAX):
            measured = _rates(place, disk / "probe", rate)
            if not missed_rates(measured, factors):
                break
        for name in missed_rates(measured, factors):
            raise InputError(
                f"machine factor disk-rate: disk {index} {name}s {format_rate(measured[name])} "
                f"where {format_rate(rate or 0)} is asked for; choose a rate that this machine has"
            )
        probed |= {f"disk_{index}_{name}_bytes_per_s": value for name, value in measured.items()}
        if factors.seek_seconds:
            seconds = _random_seconds(disk / "probe")
            _check_seek(index, seconds, factors.seek_seconds)
            probed[f"disk_{index}_random_read_seconds"] = seconds
    return probed


def _check_seek(index: int, seconds: float, seek_seconds: float) -> None:
    """Errors: `InputError` if random reads of a disk take less or far more than a seek."""
    if not seek_seconds <= seconds <= (1 + SEEK_MISS_MAX) * seek_seconds:
        raise InputError(
            f"machine factor disk-seek: a random read of disk {index} takes {seconds * 1e3:.1f} ms"
            f" where a seek takes {seek_seconds * 1e3:g} ms; run it on an idle machine"
        )


def _random_seconds(file: Path) -> float:
    """Measure the median time of reading a page of a file past memory, in no order."""
    file.write_bytes(bytes(PROBE_SEEKS << 20))
    descriptor = os.open(file, os.O_RDWR | os.O_DIRECT)
    try:
        os.fsync(descriptor)
        page = mmap.mmap(-1, mmap.PAGESIZE)
        times = []
        for number in range(PROBE_SEEKS):
            began = time.perf_counter()
            os.preadv(descriptor, [page], (7 * number % PROBE_SEEKS) << 20)
            times.append(time.perf_counter() - began)
    finally:
        os.close(descriptor)
    file.unlink()
    return median(times)


def missed_rates(measured: Mapping[str, float], factors: MachineFactors) -> list[str]:
    """Return the names of rates that differ from the requested rate.

    A disk that seeks may be slower: ext2 writes its tables between the blocks of a file.
    """
    rate = factors.disk_bytes_per_s
    if not rate:
        return []
    least = 0 if factors.seek_seconds else (1 - MISS_MAX) * rate
    return [name for name, value in measured.items() if not least <= value <= (1 + MISS_MAX) * rate]


def _rates(place: Place, file: Path, rate: int | None) -> dict[str, float]:
    """Measure bytes per second written and read, for about `PROBE_SECONDS` each."""
    size = int(rate * PROBE_SECONDS) if rate else PROBE_BYTES_MAX
    most = min(PROBE_BYTES_MAX, machine.free_bytes(file.parent) // 2)
    mib = max(1 << 20, min(most, max(PROBE_BYTES_MIN, size))) >> 20
    return {name: (mib << 20) / seconds for name, seconds in _timed(place, file, mib)}


def _timed(place: Place, file: Path, mib: int) -> Iterator[tuple[str, float]]:
    """Seconds of writing a file through memory to the disk, and of reading it past memory."""
    write = ["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={mib}", "conv=fsync"]
    read = ["dd", f"if={file}", "of=/dev/null", "bs=1M", "iflag=direct"]
    for name, command in (("write", write), ("read", read)):
        began = time.perf_counter()
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, preexec_fn=place.enter
        )
        if ended.returncode:
            raise InputError(f"machine factor disk-rate: {ended.stderr.strip().splitlines()[0]}")
        yield name, time.perf_counter() - began
    file.unlink()
