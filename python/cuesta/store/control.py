"""Alias of `cuesta_store.control`, for programs from when this package had the store."""

from cuesta_store.control import default_folder as default_folder
