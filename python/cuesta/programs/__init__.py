"""Comparison of any programs: their commands, process trees, answers and times.

`commands` reads the words of a command, `tree` runs one as a process tree that is held to limits,
`answers` compares what they wrote, `run` makes all runs in a drawn order, and `record` describes
them in `programs.json`.

Safe to change: sentences and remarks. What breaks: the fields of `programs.json`, whose pages and
readers are elsewhere.
"""
