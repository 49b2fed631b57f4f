"""Many samples by one command: a sheet, runs side by side on this machine, a table of all answers.

`sheet` reads the sheet, `batch` checks every sample before any runs, `finished` finds the answers
that are there already, `packing` says which samples fit side by side, `crew` runs them in processes
of their own, `table` writes `isolates.tsv`, and `audit` verifies all.
"""
