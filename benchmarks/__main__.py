"""Run benchmarks, print their tables, and write results for the documentation.

``python -m benchmarks`` runs everything; names run a few, and leave the results of others as they are.
"""

import os
import platform
import sys
from typing import Any

from benchmarks import (
    beyond,
    classes,
    crosstalk,
    deviations,
    directions,
    ensembles,
    growth,
    labels,
    margins,
    models,
    noise,
    price,
    published,
    ranks,
    risk,
    signal,
    spectra,
    speed,
    thresholds,
    uneven,
)

BENCHMARKS = {
    "price": price.run,
    "directions": directions.run,
    "crosstalk": crosstalk.run,
    "margins": margins.run,
    "deviations": deviations.run,
    "thresholds": thresholds.run,
    "random_targets": uneven.random,
    "uneven_targets": uneven.given,
    "ranks": ranks.run,
    "starts": ranks.starts,
    "noise": noise.run,
    "ensembles": ensembles.run,
    "beyond": beyond.run,
    "labels": labels.run,
    "risk": risk.run,
    "spectra": spectra.by_way,
    "spectra_loads": spectra.by_load,
    "loops": growth.loops,
    "rules": speed.rules,
    "searching": speed.searching,
    "converging": speed.converging,
    "growth": growth.growth,
    "programming": speed.programming,
    "training": speed.training,
    "training_large": speed.training_large,
    "large": speed.large,
    "depth": signal.depth,
    "propagation": signal.propagation,
    "widths": signal.widths,
    "gradients": signal.gradients,
    "outcomes": classes.run,
    "models": models.run,
    "signal_training": signal.training,
}


def main() -> None:
    """Run the named benchmarks, or all."""
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}: choose from {', '.join(BENCHMARKS)}")
    results = published.read()
    results["machine"] = {"processors": os.cpu_count(), "architecture": platform.machine()}
    for name in names:
        print(f"\n{name}: {(BENCHMARKS[name].__doc__ or name).splitlines()[0]}", flush=True)
        results[name] = BENCHMARKS[name]()
        _print_table(results[name])
        published.write(results)
    print(f"\n{published.RESULTS}")


def _print_table(rows: list[dict[str, Any]]) -> None:
    keys = [key for key in rows[0] if any(row.get(key) is not None for row in rows)]
    print("  ".join(f"{key:>14}" for key in keys))
    for row in rows:
        cells = (row.get(key) for key in keys)
        print("  ".join(f"{_cell(value):>14}" for value in cells))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
