"""One file a bench; `cases(size)` gives what is to be measured."""
