"""The laboratory: run one trial, measure it, verify it, write its record.

Safe to change: probes and statistics. What breaks: fields of the run record are read by pages,
models and users; an answer gets its name only when it is complete and verified.
"""
