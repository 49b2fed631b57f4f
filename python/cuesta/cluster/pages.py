"""What the daemons of Spark and YARN say of themselves, at the pages that they serve."""

from __future__ import annotations

import http.client
import json
from typing import Any

ASK_SECONDS = 5.0


def ask(host: str, path: str, port: int | None = None) -> dict[str, Any] | None:
    """What a daemon says; None while it does not answer.

    `host` is a name or address, or `HOST:PORT` where no `port` is given.
    """
    connection = http.client.HTTPConnection(host, port, timeout=ASK_SECONDS)
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        found: dict[str, Any] = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return found
