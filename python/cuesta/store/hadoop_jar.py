"""Alias of `cuesta_store.hadoop_jar`, for programs from when this package had the store."""

from cuesta_store.hadoop_jar import current as current
