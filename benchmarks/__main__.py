"""Run every benchmark, print its table, and write all of them to one JSON file."""

import json
import sys
from pathlib import Path

from benchmarks import crosstalk, directions, margins, outputs, price

BENCHMARKS = {
    "price": price.run,
    "directions": directions.run,
    "crosstalk": crosstalk.run,
    "margins": margins.run,
    "outputs": outputs.run,
}


def main() -> None:
    """Run the named benchmarks, or all."""
    out = Path("build/benchmarks.json")
    names = sys.argv[1:] or list(BENCHMARKS)
    results = {}
    for name in names:
        rows = results[name] = BENCHMARKS[name]()
        print(f"\n{name}: {sys.modules[BENCHMARKS[name].__module__].__doc__.splitlines()[0]}")
        print("  ".join(f"{key:>16}" for key in rows[0]))
        for row in rows:
            cells = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values())
            print("  ".join(f"{cell:>16}" for cell in cells))
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(results, indent=2))
    print(f"\n{out}")


main()
