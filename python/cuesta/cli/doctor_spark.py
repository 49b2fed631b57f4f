"""The archive that Spark starts from: its state for the doctor, and its making."""

from __future__ import annotations

from collections.abc import Callable


def archive_state() -> tuple[str, str] | None:
    """The archive in words, or its remedy; None where Spark or Java can have none."""
    if _lacks_spark():
        return None
    from cuesta.engines.spark import archive
    from cuesta.units import format_bytes

    made = archive.current()
    if made:
        return f"{format_bytes(made.stat().st_size)}, {made}", ""
    if archive.is_possible():
        return "", "with one Spark starts in two thirds of the time: cuesta doctor --ceilings"
    return None


def make_archive(announce: Callable[[str], None]) -> None:
    """Make an archive where there can be one and is none; report where it fails."""
    if _lacks_spark():
        return
    from cuesta.engines.spark import training
    from cuesta.errors import EngineError

    try:
        training.make(announce)
    except (EngineError, OSError) as error:
        announce(f"no archive of Spark's classes: {error}")


def _lacks_spark() -> bool:
    from cuesta.engines import get_engine

    return get_engine("spark").missing() is not None
