"""Alias of `cuesta_store.client`, for programs from when this package had the store."""

from cuesta_store.client import CachedFile as CachedFile
