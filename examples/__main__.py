"""Run the examples of the guides and write what they found to ``docs/measured``.

``python -m examples`` runs all, ``python -m examples layers`` one; ``--jobs 2`` on two processes where
instances are independent. ``python -m examples editors`` takes up where it was left.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from examples import cities, editors, keys, layers, model, published, smollm, tokens, training
from examples.encoder import MissingExtraError, token_vectors
from examples.questions import KINDS
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


def _editors(plan: editors.Plan) -> dict[str, Any]:
    """Compare editors of a language model (a day; each row is kept as it comes)."""
    results = published.read()
    for so_far in editors.measure(plan, results.get("editors", {})):
        results["editors"] = so_far
        published.keep(results)
        _say({name: rows[-1] for name, rows in so_far.items() if rows})
    return dict(results["editors"])


_EXAMPLES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "layers": _layers, "cities": _cities, "tokens": _tokens, "model": _model, "keys": _keys,
    "training": _training, "editors": _editors,
}  # fmt: skip


def _add_plan(parser: argparse.ArgumentParser) -> None:
    """Add what the comparison of editors is to measure, each with what it is by default."""
    group = parser.add_argument_group("editors")
    group.add_argument("--kinds", nargs="+", choices=KINDS, help="of facts")
    for name, words in (
        ("sizes", "numbers of facts"), ("seeds", "of facts"), ("layers", "to choose from"),
    ):  # fmt: skip
        group.add_argument(f"--{name}", nargs="+", type=int, metavar="N", help=words)
    group.add_argument("--methods", nargs="+", choices=editors.METHODS)
    for name, words in (
        ("tuned-on", "facts to tune on, at most"),
        ("candidates", "settings of a method to try"),
        ("neighbours", "prompts about others"),
        ("characters", "of held-out text"),
    ):
        group.add_argument(f"--{name}", type=int, metavar="N", help=words)


def _plan(options: argparse.Namespace) -> editors.Plan:
    names = (each.name for each in fields(editors.Plan))
    given = ((name, getattr(options, name)) for name in names)
    terms: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given
        if value is not None
    }
    return editors.Plan(**terms)


def main() -> None:
    """Run the named examples, or all."""
    parser = argparse.ArgumentParser(prog="python -m examples", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(_EXAMPLES)}; or all"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes for independent instances")
    _add_plan(parser)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in _EXAMPLES]
    if unknown:
        parser.error(f"no example {unknown[0]!r}: choose from {', '.join(_EXAMPLES)}")
    results = published.read()
    for name in options.names or _EXAMPLES:
        print(f"{name}: {(_EXAMPLES[name].__doc__ or '').splitlines()[0]}", flush=True)
        try:
            results[name] = _EXAMPLES[name](_plan(options) if name == "editors" else options.jobs)
        except MissingExtraError as missing:
            parser.error(str(missing))
        published.write(results)
    print(published.RESULTS)


def _say(row: Mapping[str, Any]) -> None:
    cells = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
    print("  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
