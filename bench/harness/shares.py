"""A counted share, with its interval."""

from __future__ import annotations

import math
from statistics import NormalDist

from cuesta.lab.stats import CONFIDENCE


def wilson(counted: int, times: int) -> tuple[float, float]:
    """Return both ends of Wilson's interval of the share `counted` of `times`."""
    part, z = counted / times, NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    middle = (part + z * z / (2 * times)) / (1 + z * z / times)
    reach = z * math.sqrt(part * (1 - part) / times + (z / (2 * times)) ** 2) / (1 + z * z / times)
    return max(0.0, middle - reach), min(1.0, middle + reach)
