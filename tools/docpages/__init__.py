"""Pages of the documentation: what is copied, and what is written from commands and docstrings."""

from __future__ import annotations
