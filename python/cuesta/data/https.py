"""Downloads of files over https with pooch, which writes to a temporary name and renames."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.errors import EngineError

if TYPE_CHECKING:
    from cuesta.data.registry import Fetch, Part, Progress

CHUNK_BYTES = 1 << 20
TIMEOUT_S = 60


def fetch_parts(fetch: Fetch) -> list[Path]:
    """Download the parts of the dataset into the folder of `fetch`, in their order.

    Errors: `EngineError` with the address.
    """
    return [_fetch(part, fetch) for part in fetch.dataset.source.parts]


def _fetch(part: Part, fetch: Fetch) -> Path:
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    downloader = pooch.HTTPDownloader(
        progressbar=_Bar(fetch.progress), chunk_size=CHUNK_BYTES, timeout=TIMEOUT_S
    )
    try:
        path = pooch.retrieve(
            url=part.url,
            known_hash=part.sha256,
            fname=part.file_name,
            path=fetch.folder,
            downloader=downloader,
        )
    except requests.Timeout as error:
        raise _failed(part, f"no answer within {TIMEOUT_S} s") from error
    except requests.ConnectionError as error:
        raise _failed(part, "no connection, check the network") from error
    except (requests.RequestException, ValueError) as error:
        raise _failed(part, str(error).partition("\n")[0]) from error
    return Path(path)


def _failed(part: Part, cause: str) -> EngineError:
    return EngineError(f"data.get: downloading {part.url} failed: {cause}")


class _Bar:
    """Progress bar for pooch that calls a function."""

    def __init__(self, progress: Progress) -> None:
        self.total = 0
        self._progress = progress
        self._done = 0

    def update(self, count: int) -> None:
        """Add `count` received bytes."""
        self._done = min(self._done + count, self.total or self._done + count)
        self._progress(self._done, self.total)

    def reset(self) -> None:
        """Restart at 0 bytes."""
        self._done = 0

    def close(self) -> None:
        """Report the complete file."""
        self._progress(self.total, self.total)
