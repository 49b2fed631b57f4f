"""Conformance suite of engines: whoever writes an engine runs it by a test file of a few lines.

::

    from cuesta.testing import EngineContract
    from mine import MyEngine

    class TestMyEngine(EngineContract):
        make = MyEngine
        options = ({"tasks": "1"}, {"tasks": "7"}, {})

Then `pytest` runs every workload of the engine on golden cases, which are part of the package, and
on inputs of random sizes, which it makes; all answers are verified. It also compares the engine's
capabilities with its functions. The extra `testing` has the packages.

Safe to change: further checks. What breaks: a check that an engine of others passed and now fails
is a change for them, in the changelog.
"""

from __future__ import annotations

import pytest

# Asserts of the suite show their values, as those of a test do.
pytest.register_assert_rewrite("cuesta.testing.cases", "cuesta.testing.contract")

from cuesta.testing.cases import Case, digest_of, golden_cases  # noqa: E402
from cuesta.testing.contract import EngineContract  # noqa: E402
from cuesta.testing.inputs import random_case  # noqa: E402

__all__ = ["Case", "EngineContract", "digest_of", "golden_cases", "random_case"]
