"""Benches, a file each; `cases(size)` yields the cases to measure."""
