"""Data-intensive science at hardware speed, verified and measured against the machine's ceilings.

The command line is `cuesta` (`python -m cuesta` is the same). From Python, make a
`cuesta.lab.trial.Trial`, get an engine from `cuesta.engines.get_engine` and hand both to
`cuesta.lab.run.run_trial`.
"""

from __future__ import annotations

__version__ = "0.1.0"
