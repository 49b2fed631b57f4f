"""Engine options of `spark-scala` alone: the programs, caches and formats that ArrayBench compares.

None of them can change the answer. Xuechen Zhang et al., Making sense of performance in in-memory
computing frameworks, JPDC 2017: figure 10 (keys), sections 4.3 to 4.5 (codec, caching policies,
serializer) and 5.3 (storage options).
"""

from __future__ import annotations

from collections.abc import Mapping

from cuesta.errors import InputError
from cuesta.trial import Trial
from cuesta.workloads import WORKLOAD_NAMES, get_workload

CHOICES: Mapping[str, tuple[str, ...]] = {
    "cache": ("auto", "none", "inputs", "output", "all"),
    "codec": ("lz4", "lzf", "snappy", "zstd", "none"),
    "keys": ("number", "text"),
    "serializer": ("java", "kryo"),
    "storage-level": (
        "memory-only",
        "memory-and-disk",
        "disk-only",
        "memory-only-ser",
        "memory-and-disk-ser",
    ),
}
"""Values of each option."""

_FILTERS, _JOINS = "max_abs_score", "how"
"""Parameters that only workloads on gene pairs have, and of these only joins."""

_PARAMETERS = {"cache": _FILTERS, "keys": _JOINS, "storage-level": _FILTERS}
"""Options that apply only to workloads with a parameter, and its name."""

_CACHES_OF_JOINS = ("output", "all")
"""Values of `cache` for joins alone, whose result other steps read again."""

_SERIALIZERS = {
    "java": "org.apache.spark.serializer.JavaSerializer",
    "kryo": "org.apache.spark.serializer.KryoSerializer",
}
_COMPRESSES = ("spark.shuffle.compress", "spark.shuffle.spill.compress", "spark.rdd.compress")


def request_options(trial: Trial) -> dict[str, str]:
    """Return options for the Scala program. Errors: `InputError` naming option and choices."""
    options = _checked(trial)
    if options.get("keys") == "text" and trial.parameters.get("how") != "inner":
        raise InputError(
            "--engine-option keys=text joins with RDD.join, which is inner; leave it out for "
            f"--how {trial.parameters.get('how')}"
        )
    return {key.replace("-", "_"): options[key] for key in _PARAMETERS if key in options}


def session_settings(trial: Trial) -> dict[str, str]:
    """Return Spark's settings for the options. Errors: `InputError`."""
    options = _checked(trial)
    settings = {}
    if "serializer" in options:
        settings["spark.serializer"] = _SERIALIZERS[options["serializer"]]
    codec = options.get("codec")
    if codec:
        settings |= dict.fromkeys(_COMPRESSES, str(codec != "none").lower())
    if codec and codec != "none":
        settings["spark.io.compression.codec"] = codec
    twice = sorted(settings.keys() & trial.engine_options.keys())
    if twice:
        raise InputError(
            f"--engine-option {twice[0]} is given, and codec or serializer set it, too; leave one "
            "of them out"
        )
    return settings


def _checked(trial: Trial) -> dict[str, str]:
    options = {key: trial.engine_options[key] for key in CHOICES if key in trial.engine_options}
    for key, value in options.items():
        if value not in CHOICES[key]:
            raise InputError(
                f"--engine-option {key} is {value}, choose from {', '.join(CHOICES[key])}"
            )
        parameter = _PARAMETERS.get(key)
        if parameter and parameter not in trial.parameters:
            raise InputError(
                f"--engine-option {key} is for {_workloads_with(parameter)}, not for "
                f"{trial.workload}; leave it out"
            )
    cache = options.get("cache")
    if cache in _CACHES_OF_JOINS and _JOINS not in trial.parameters:
        raise InputError(
            f"--engine-option cache is {cache}, which is for {_workloads_with(_JOINS)}; give none "
            "or inputs"
        )
    return options


def _workloads_with(parameter: str) -> str:
    """List the workloads with a parameter."""
    return ", ".join(
        name
        for name in WORKLOAD_NAMES
        if any(other.name == parameter for other in get_workload(name).parameters)
    )
