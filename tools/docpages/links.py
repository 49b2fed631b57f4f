"""Check of a built site: all links between its pages, and to places in them, lead somewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_IGNORED = frozenset(("genindex.html", "search.html"))


class _Page(HTMLParser):
    """Links and places of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value and tag != "meta":
                self.places.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def check(site: Path) -> tuple[int, list[str]]:
    """Return the number of links that were looked at, and a sentence for each dead one."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    count, faults = 0, []
    for path, page in pages.items():
        if path.name in _IGNORED:
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            count += 1
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            name = path.relative_to(site)
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                faults.append(f"{name}: {link} leads to nothing")
            elif target in pages and unquote(parts.fragment) not in {"", *pages[target].places}:
                faults.append(f"{name}: {link} has no such place")
    return count, faults


def foreign(site: Path) -> set[str]:
    """Return the addresses of other hosts that pages load something from when they are opened."""
    loaded: set[str] = set()
    for path in sorted(site.rglob("*.html")):
        parser = _Loads()
        parser.feed(path.read_text(encoding="utf-8"))
        loaded |= parser.addresses
    return loaded


class _Loads(HTMLParser):
    """Addresses that a browser fetches by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        address = values.get("src") or (values.get("href") if tag == "link" else None)
        if address and urlsplit(address).netloc:
            self.addresses.add(address)


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
