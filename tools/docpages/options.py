"""Page of the parameters of all workloads, written from `spec/workloads`."""

from __future__ import annotations

from collections.abc import Iterator

from cuesta.workloads import WORKLOAD_NAMES, Parameter, get_workload


def page() -> str:
    """Return the text of the page, in Markdown."""
    lines = [
        "# Parameters of the workloads",
        "",
        "Written from `spec/workloads/NAME/params.toml`, which every language reads. The command "
        "line, the keywords of Python and studies have these names.",
        "",
    ]
    for name in WORKLOAD_NAMES:
        workload = get_workload(name)
        lines += [f"## {name}", "", f"{workload.summary}", ""]
        lines += [
            f"[The problem, the maths, the answer](../../spec/workloads/{name}/README.md).",
            "",
        ]
        rows = [row for parameter in workload.parameters for row in _row(parameter)]
        if rows:
            lines += [
                "| parameter | unit | range | default | meaning |",
                "|---|---|---|---|---|",
                *rows,
            ]
        lines.append("")
    return "\n".join(lines)


def _row(parameter: Parameter) -> Iterator[str]:
    default = parameter.none if parameter.default is None else parameter.default
    cells = (f"`{parameter.name}`", parameter.unit, parameter.range, default, parameter.help)
    yield "| " + " | ".join(_cell(str(cell)) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
