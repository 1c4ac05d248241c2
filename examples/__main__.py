"""Run the examples of the guides and write what they found to ``docs/measured``.

``python -m examples`` runs all, ``python -m examples layers`` one; ``--jobs 2`` on two processes where
instances are independent.
"""

import argparse
from collections.abc import Mapping
from typing import Any

from examples import cities, keys, layers, model, published, smollm, tokens, training
from examples.encoder import MissingExtraError, token_vectors
from examples.world import world
from simonides.editing.language_model import LanguageModel


def _tokens(jobs: int) -> dict[str, Any]:
    """Store random pairs of tokens (an hour)."""
    vectors = token_vectors()
    results = {"lengths": tokens.length_histogram(vectors), "crowd": tokens.crowd(vectors)}
    for rows in tokens.run(jobs):
        results["rows"] = rows
        _say(rows[-1])
    return results


def _cities(jobs: int) -> dict[str, Any]:
    """Store cities and their countries (an hour, and some minutes to encode the names once)."""
    atlas = cities.Atlas(world())
    results: dict[str, Any] = {
        "cities": len(atlas.world.cities),
        "countries": len(atlas.world.countries),
        "largest": atlas.world.largest(4),
        "directions": [part.shape[1] for part in atlas.whitened],
        "expected": cities.expected(atlas),
        "decisions": [],
        "rules": [],
        "held_out": list(cities.held_out(atlas)),
        "parts": list(cities.part_decisions(atlas)),
    }
    for row in cities.by_rule(atlas):
        results["rules"].append(row)
        _say(row)
    for row in cities.decisions(atlas, jobs=jobs):
        results["decisions"].append(row)
        _say(row)
    return results


def _layers(_jobs: int) -> dict[str, Any]:
    """Plan the encoder's own layers (seconds)."""
    facts = int(layers.COMMAND[-1])
    return {"printed": layers.printed(), "ranks": layers.by_rank(), "facts": facts}


def _model(_jobs: int) -> dict[str, Any]:
    """Put invented facts into a language model (half an hour)."""
    results: dict[str, Any] = {"margin": model.MARGIN}
    for rows in model.run():
        results["rows"] = rows
        _say(rows[-1])
    return results


def _keys(_jobs: int) -> dict[str, Any]:
    """Measure capacity on a language model's keys and head (an hour; goes on where it was stopped)."""
    known = published.read()
    results = {"thresholds": [], "predictions": [], **known.get("keys", {})}
    if keys.is_whole(results["thresholds"]):
        results.update(thresholds=[], predictions=[])
    source = keys.Source.read(LanguageModel.load(smollm.file()))
    results["common"] = keys.common_part(source)
    for rows in keys.thresholds(source, results["thresholds"]):
        results["thresholds"] = rows
        _say(rows[-1])
        published.write({**known, "keys": results})
    for rows in keys.predictions(source, results["thresholds"], results["predictions"]):
        results["predictions"] = rows
        _say(rows[-1])
    return results


def _training(_jobs: int) -> dict[str, Any]:
    """Train adapters on more and more facts (hours; goes on where it was stopped)."""
    results = published.read()
    measured: dict[str, Any] = results.setdefault("training", {})
    for row in training.run(measured):
        published.keep(results)
        _say(row)
    return measured


_EXAMPLES = {
    "layers": _layers,
    "cities": _cities,
    "tokens": _tokens,
    "model": _model,
    "keys": _keys,
    "training": _training,
}


def main() -> None:
    """Run the named examples, or all."""
    parser = argparse.ArgumentParser(prog="python -m examples", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(_EXAMPLES)}; or all"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes for independent instances")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in _EXAMPLES]
    if unknown:
        parser.error(f"no example {unknown[0]!r}: choose from {', '.join(_EXAMPLES)}")
    results = published.read()
    for name in options.names or _EXAMPLES:
        print(f"{name}: {(_EXAMPLES[name].__doc__ or '').splitlines()[0]}", flush=True)
        try:
            results[name] = _EXAMPLES[name](options.jobs)
        except MissingExtraError as missing:
            parser.error(str(missing))
        published.write(results)
    print(published.RESULTS)


def _say(row: Mapping[str, Any]) -> None:
    cells = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
    print("  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
