"""Contenders side by side on the same problems, each in a process of its own."""

import json
import subprocess
import sys
from typing import Any

from simonides import capacity

COLUMNS = ("seconds", "times_ours", "verdict", "accuracy", "loss", "steps", "peak_mb")


def enter(
    contender: str, dim: int, facts: int, *, seed: int = 1, **settings: Any
) -> dict[str, Any]:
    """Return the row of one contender; a failure is a row too."""
    request = {
        "contender": contender,
        "problem": "original",
        "dim": dim,
        "facts": facts,
        "seed": seed,
        **settings,
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.contender"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["killed"])[-1]
        answer: dict[str, Any] = {"verdict": f"failed: {reason}"}
    else:
        answer = json.loads(done.stdout)
    row = {**request, **dict.fromkeys(COLUMNS), **answer}
    print(
        f"  {contender}, d = {dim}, {facts} facts: {row['seconds']} s, {row['verdict']}", flush=True
    )
    return row


def compare(
    contenders: list[str], dim: int, facts: int, *, patience: float | None = None, **settings: Any
) -> list[dict[str, Any]]:
    """Return a row for each contender; times are also given in units of the first one's.

    With ``patience``, training is given up after that many times the first one's time.
    """
    rows = [enter(contenders[0], dim, facts, **settings)]
    if patience is not None and rows[0]["seconds"]:
        settings["limit"] = patience * rows[0]["seconds"]
    rows += [enter(contender, dim, facts, **settings) for contender in contenders[1:]]
    for row in rows:
        if row["seconds"] and rows[0]["seconds"]:
            row["times_ours"] = row["seconds"] / rows[0]["seconds"]
    return rows


def near(dim: int, fraction: float) -> int:
    """Return that fraction of the predicted number of facts."""
    return round(fraction * capacity(dim).facts)
