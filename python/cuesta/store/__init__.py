"""The two-level store: a tier of memory in front of a parallel file system."""
