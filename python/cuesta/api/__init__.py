"""Calls from Python, and the parts that they share with the command line.

`cuesta.run`, `cuesta.compare`, `cuesta.assess` and `cuesta.report` are those of
`cuesta.api.calls`; `import cuesta` imports nothing of this package before one of them is used.

Safe to change: additions. What breaks: keyword arguments and defaults follow `params.toml`;
notebooks use them.
"""
