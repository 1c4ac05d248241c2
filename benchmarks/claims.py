"""Publish a reproduction: its claims and its times, as JSON and as tables for the documentation.

``python -m benchmarks.claims build/full full`` reads what ``simonides reproduce --full --out build/full``
wrote.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.published import FOLDER


def main() -> None:
    """Publish the reproduction in a folder, by the name of its scale."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m benchmarks.claims FOLDER SCALE")
    folder, scale = Path(sys.argv[1]), sys.argv[2]
    findings = {
        name: json.loads((folder / f"{name}.json").read_text()) for name in ("claims", "times")
    }
    (FOLDER / f"reproduction_{scale}.json").write_text(
        json.dumps(findings, indent=1, ensure_ascii=False) + "\n"
    )
    for topic in ("storage", "signal"):
        claims = [claim for claim in findings["claims"] if claim["topic"] == topic]
        (FOLDER / f"claims_{scale}_{topic}.md").write_text(_claims(claims))
    (FOLDER / f"times_{scale}.md").write_text(_times(findings["times"]))


def _claims(claims: list[dict[str, Any]]) -> str:
    keys = ("statement", "paper", "found", "verdict")
    return _table(
        ["claim", "paper", "this run", "verdict"],
        [[str(claim[key]).replace("|", "\\|") for key in keys] for claim in claims],
    )


def _times(parts: list[dict[str, Any]]) -> str:
    rows = [
        [part["part"], *(_number(part[key]) for key in ("tasks", "task_seconds", "seconds"))]
        for part in parts
    ]
    total = ["all", "", "", _number(sum(part["seconds"] for part in parts))]
    return _table(["part", "tasks", "their seconds, added up", "seconds it took"], [*rows, total])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main()
