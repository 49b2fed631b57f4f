"""Datasets by name, and seeded synthetic ones.

`registry.toml` says what there is, `cuesta.data.obtain.obtain` brings it into the cache, checked,
`cuesta.data.make` makes synthetic inputs of any size.
"""
