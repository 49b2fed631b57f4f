"""The steps of a trial, in their order: a trial passes each of them once.

`resolve` checks the request, `prepare` makes the folders and readable inputs, `execute` calls the
engine, `annotate` adds names of genes, `verify` checks the answer by another method, and `record`
writes the record and names the answer. The result of a step is the argument of the next.
"""
