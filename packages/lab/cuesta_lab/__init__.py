"""Studies, models and advice: what measures Cuesta's runs, explains them and decides by them.

Adds `cuesta study`, `explain`, `model` and `advise` by the entry points of `pyproject.toml`. Uses
the package `cuesta` to run trials and read their records; `cuesta` imports nothing of this one.
"""
