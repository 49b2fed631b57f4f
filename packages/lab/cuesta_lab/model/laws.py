"""Laws of scaling with intervals: Amdahl, Gustafson, and the Universal Scalability Law.

Each is fitted by non-negative least squares of relative errors; the interval is that of a
parametric bootstrap with the noise of a single run, or that of the residuals where it is larger.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cuesta_lab.model.candidates import NOISE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DRAWS = 500
CONFIDENCE = 0.9


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A value, and its interval at a confidence of 0.9.

    None stands for infinite.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Law:
    """A law with its parameters, and the root mean square of its relative errors."""

    name: str
    parameters: Mapping[str, Interval]
    error: float

    def record(self) -> dict[str, Any]:
        """Return the law as an object of a model file."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class _Form:
    """A law's columns at numbers of nodes, and its parameters by the columns' coefficients."""

    name: str
    design: Callable[[Array], Array]
    parameters: Callable[[Array], dict[str, float]]


def amdahl(nodes: Sequence[float], seconds: Sequence[float], seed: int) -> Law:
    """Fit Amdahl's law, fixed work on more and more nodes: t = t1 (s + (1 - s) / n).

    Parameters: `one_node_s` (t1) and `serial` (s, 0 to 1). Source: Amdahl, AFIPS 1967.
    """

    def design(n: Array) -> Array:
        return _columns(n**0, 1 / n)

    def parameters(c: Array) -> dict[str, float]:
        return {"one_node_s": c[0] + c[1], "serial": c[0] / (c[0] + c[1])}

    form = _Form(name="amdahl", design=design, parameters=parameters)
    return _law(form, nodes, seconds, seed)


def gustafson(nodes: Sequence[float], seconds: Sequence[float], seed: int) -> Law:
    """Fit Gustafson's law, fixed work per node on more and more nodes: t = t1 (1 + g (n - 1)).

    Parameters: `one_node_s` (t1) and `growth` (g), which is 0 where time does not grow; the scaled
    speedup is n / (1 + g (n - 1)). Source: Gustafson, CACM 1988, in terms of time.
    """

    def design(n: Array) -> Array:
        return _columns(n**0, n - 1)

    def parameters(c: Array) -> dict[str, float]:
        return {"one_node_s": c[0], "growth": c[1] / c[0] if c[0] else math.inf}

    form = _Form(name="gustafson", design=design, parameters=parameters)
    return _law(form, nodes, seconds, seed)


def usl(nodes: Sequence[float], rates: Sequence[float], seed: int) -> Law:
    """Fit the USL, throughput: x = rate n / (1 + contention (n - 1) + crosstalk n (n - 1)).

    Parameters: `rate` of one node, `contention`, `crosstalk`, and `best_nodes`, beyond which
    throughput falls (infinite without crosstalk). Source: Gunther, Guerrilla Capacity Planning.
    """

    def design(n: Array) -> Array:
        return _columns(n**0, n - 1, n * (n - 1))

    def parameters(c: Array) -> dict[str, float]:
        if not c[0]:  # The points do not bound the rate of a node.
            return dict.fromkeys(("rate", "contention", "crosstalk", "best_nodes"), math.inf)
        best = math.sqrt(max(0.0, c[0] - c[1]) / c[2]) if c[2] else math.inf
        rate = 1 / c[0]
        return {
            "rate": rate,
            "contention": c[1] * rate,
            "crosstalk": c[2] * rate,
            "best_nodes": best,
        }

    per_rate = [count / rate for count, rate in zip(nodes, rates, strict=True)]
    form = _Form(name="usl", design=design, parameters=parameters)
    return _law(form, nodes, per_rate, seed)


def nonnegative(design: Array, target: Array) -> Array:
    """Solve non-negative least squares of a few columns by trying all sets of them."""
    import numpy as np

    count = design.shape[1]
    best, least = np.zeros(count), float((target**2).sum())
    for size in range(1, count + 1):
        for chosen in itertools.combinations(range(count), size):
            part = design[:, list(chosen)]
            solution, _, rank, _ = np.linalg.lstsq(part, target, rcond=None)
            squares = float(((part @ solution - target) ** 2).sum())
            if rank == size and (solution >= 0).all() and squares < least:
                best, least = np.zeros(count), squares
                best[list(chosen)] = solution
    return best


def _columns(*columns: Array) -> Array:
    import numpy as np

    return np.stack(columns, axis=1)


def _law(form: _Form, nodes: Sequence[float], values: Sequence[float], seed: int) -> Law:
    import numpy as np

    name, parameters = form.name, form.parameters
    targets = np.asarray(values, dtype=float)
    columns = form.design(np.asarray(nodes, dtype=float))
    if len(nodes) < columns.shape[1]:
        raise ValueError(f"{name} needs {columns.shape[1]} points, there are {len(nodes)}")
    weighted = columns / targets[:, None]
    ones = np.ones(len(targets))
    solution = nonnegative(weighted, ones)
    error = float(np.sqrt(((weighted @ solution - 1) ** 2).mean()))
    noise = max(NOISE, error)
    random = np.random.default_rng(seed)
    samples = [
        parameters(nonnegative(weighted, ones * np.exp(noise * random.standard_normal(len(ones)))))
        for _ in range(DRAWS)
    ]
    tail = (1 - CONFIDENCE) / 2
    estimates = parameters(solution)
    return Law(
        name=name,
        parameters={
            key: Interval(
                value=_finite(float(value)),
                low=_quantile([sample[key] for sample in samples], tail),
                high=_quantile([sample[key] for sample in samples], 1 - tail),
            )
            for key, value in estimates.items()
        },
        error=error,
    )


def _quantile(values: Sequence[float], at: float) -> float | None:
    """Nearest sample to a quantile; values may be infinite, which gives None."""
    return _finite(float(sorted(values)[round(at * (len(values) - 1))]))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
