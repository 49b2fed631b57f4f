"""Parts of `tools/release.py`: toolchains, archives, their notices and checks."""
