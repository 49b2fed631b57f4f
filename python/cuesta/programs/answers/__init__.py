"""Answers of any program as typed rows: readers of formats, digests, and differences.

`cells` types a value, `formats` reads a file as a table, `digests` has its order-free digest, and
`differences` compares two tables and describes the first difference.

Safe to change: sentences. What breaks: the digest is in records; a change of it is a new schema.
"""
