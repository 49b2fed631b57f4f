"""Queries to the web pages of the daemons of Spark and YARN.

Pages of Spark answer clients with a token, which is made from the secret of the cluster.
"""

from __future__ import annotations

import base64
import hmac
import http.client
import json
from typing import Any

ASK_SECONDS = 5.0
FILTER = "org.apache.spark.ui.JWSFilter"
"""Spark's filter of pages, for tokens of RFC 7515."""
_HEAD, _CLAIMS = {"alg": "HS256", "typ": "JWT"}, {"sub": "cuesta"}


def ask(
    host: str, path: str, port: int | None = None, authorization: str = ""
) -> dict[str, Any] | None:
    """Return the reply of a daemon; None while it does not answer.

    `host` is a name or address, or `HOST:PORT` where no `port` is given.
    """
    connection = http.client.HTTPConnection(host, port, timeout=ASK_SECONDS)
    headers = {"Accept": "application/json"}
    if authorization:
        headers["Authorization"] = authorization
    try:
        connection.request("GET", path, headers=headers)
        reply: dict[str, Any] = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return reply


def spark_filter(secret: str) -> dict[str, str]:
    """Return Spark's settings for pages that answer to `authorization(secret)` alone."""
    return {
        "spark.ui.filters": FILTER,
        f"spark.{FILTER}.param.secretKey": _text(_key(secret)),
    }


def authorization(secret: str) -> str:
    """Return the header `Authorization` that the pages of a cluster require."""
    signed = ".".join(_text(json.dumps(part).encode()) for part in (_HEAD, _CLAIMS))
    signature = hmac.digest(_key(secret), signed.encode(), "sha256")
    return f"Bearer {signed}.{_text(signature)}"


def _key(secret: str) -> bytes:
    return hmac.digest(secret.encode(), b"pages of Spark", "sha256")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
