"""The HTTP server of the page of a store, for browsers and Prometheus, with authentication.

Its answers are from a `Watch` over the store.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections import deque
from functools import cache
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cuesta_store.client import Connection
from cuesta_store.errors import CuestaError
from cuesta_store.metrics import CONTENT_TYPE, metrics

THREADS_MAX = 16
"""Limit of concurrent requests; a newer request ends the oldest."""
REQUEST_SECONDS = 5.0
"""Time for a request to arrive before its connection is ended."""
HISTORY_SAMPLES = 121
"""Samples of two minutes, one each second."""
FRESH_SECONDS = 0.25
"""Age up to which a status is returned again without a query."""
_JSON = "application/json"
_HTML = "text/html; charset=utf-8"
_STYLES = Path(__file__).parent


class Watch:
    """The status of a store, now and over the last two minutes; shared by threads."""

    def __init__(self, folder: Path) -> None:
        self._connection = Connection(folder)
        self._lock = threading.Lock()
        self._queried_at = 0.0
        self._status: dict[str, Any] = {}
        self._history: deque[dict[str, Any]] = deque(maxlen=HISTORY_SAMPLES)

    def status(self) -> dict[str, Any]:
        """Return a status not older than `FRESH_SECONDS`. Errors: `EngineMissing`: it has ended."""
        with self._lock:
            if time.monotonic() - self._queried_at > FRESH_SECONDS:
                self._status = self._connection.ask("status")
                del self._status["payload"]
                self._queried_at = time.monotonic()
            return self._status

    def remember(self) -> None:
        """Add the status to the history. Errors: as `status`."""
        now = self.status()
        numbers = {name: value for name, value in now.items() if not isinstance(value, str)}
        self._history.append(numbers)

    def history(self) -> list[dict[str, Any]]:
        """Return the numbers of the status, one sample each second, the oldest first."""
        return list(self._history)


class PageServer(ThreadingHTTPServer):
    """Answers clients with the token on 127.0.0.1.

    Errors: those of the system, where the port is not available.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int, token: str, watch: Watch) -> None:
        self.token = token
        self.watch = watch
        # Browsers send a cookie to all ports of a host. It is valid for this process alone.
        self.cookie = secrets.token_urlsafe(32)
        self._open: dict[Any, float] = {}
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        """Bind the socket as the parent does, without a look-up of this machine's names."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a request; beyond the limit, end the oldest unfinished request."""
        with self._lock:
            if len(self._open) >= THREADS_MAX:
                _end(next(iter(self._open)))
                self._open.pop(next(iter(self._open)))
            self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a request that was admitted."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def end_slow(self) -> None:
        """End the connections of requests that have not arrived in time."""
        begun = time.monotonic() - REQUEST_SECONDS
        with self._lock:
            for request, at in self._open.items():
                if at < begun:
                    _end(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: a client that disconnects is none, and printed ones have no reader."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = REQUEST_SECONDS
    server_version = "cuesta"
    sys_version = ""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if not self._is_local():
            self._send(421, "text/plain", "the address of this page is 127.0.0.1\n")
            return
        tokens = parse_qs(url.query).get("token", [])
        if tokens and _same(tokens[0], self.server.token):
            self._admit()
        elif self._may_read():
            self._answer(url.path)
        else:
            self._send(401, "text/plain", "`cuesta store status` says the address to open\n")

    def _is_local(self) -> bool:
        """Whether the request names this address, and not a domain that resolves to it."""
        port = self.server.server_port
        names = ("127.0.0.1", "localhost")
        allowed = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
        return self.headers.get_all("Host", []) in [[name] for name in allowed]

    def _may_read(self) -> bool:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(token.strip(), self.server.token):
            return True
        try:
            cookies = SimpleCookie(self.headers.get("Cookie", ""))
        except CookieError:
            return False
        cookie = cookies.get(self._cookie_name())
        return cookie is not None and _same(cookie.value, self.server.cookie)

    def _cookie_name(self) -> str:
        return f"cuesta-{self.server.server_port}"

    def _admit(self) -> None:
        """Set the cookie, and lead to the address without the token.

        By a page, not by a redirect: after one, a browser that followed a link of another site
        would not send a strict cookie.
        """
        cookie = f"{self._cookie_name()}={self.server.cookie}; Path=/; HttpOnly; SameSite=Strict"
        self._send(200, _HTML, "", {"Set-Cookie": cookie, "Refresh": "0; url=/"})

    def _answer(self, path: str) -> None:
        watch = self.server.watch
        try:
            match path:
                case "/":
                    nonce = secrets.token_urlsafe(16)
                    policy = (
                        f"default-src 'none'; connect-src 'self'; style-src 'self' 'nonce-{nonce}';"
                        f" img-src data:; script-src 'nonce-{nonce}'; base-uri 'none';"
                        " form-action 'none'; frame-ancestors 'none'"
                    )
                    page = _page().replace("NONCE", nonce)
                    self._send(200, _HTML, page, {"Content-Security-Policy": policy})
                case "/style.css":
                    self._send(200, "text/css; charset=utf-8", _style())
                case "/status.json":
                    self._send(200, _JSON, json.dumps(watch.status()))
                case "/history.json":
                    self._send(200, _JSON, json.dumps(watch.history()))
                case "/metrics":
                    self._send(200, CONTENT_TYPE, metrics(watch.status()))
                case _:
                    self._send(404, "text/plain", "no such page\n")
        except CuestaError as error:
            self._send(503, "text/plain", f"{error}\n")

    def _send(self, code: int, kind: str, text: str, more: dict[str, str] | None = None) -> None:
        content = text.encode()
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        self.send_response(code)
        for name, value in (headers | (more or {})).items():
            self.send_header(name, value)
        if code == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log no requests: the first has the token."""


def _end(request: Any) -> None:
    """Shut down the connection of a request, which ends its thread."""
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def _same(received: str, secret: str) -> bool:
    """Whether two secrets are equal, compared in constant time."""
    return hmac.compare_digest(received.encode(errors="replace"), secret.encode())


@cache
def _page() -> str:
    return Path(__file__).with_name("page.html").read_text(encoding="utf-8")


@cache
def _style() -> str:
    """Return the style sheet of the reports."""
    chart = (_STYLES / "chart.css").read_text(encoding="utf-8")
    style = (_STYLES / "style.css").read_text(encoding="utf-8")
    return style.replace('{% include "chart.css" %}', chart)
