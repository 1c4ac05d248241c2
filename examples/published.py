"""What the examples leave for the documentation: results as JSON, tables as Markdown, pictures."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples import editors, keys, pictures, training
from simonides.estimate import Estimate
from simonides.figures.style import save

FOLDER = Path("docs/measured")
RESULTS = FOLDER / "examples.json"


def read() -> dict[str, Any]:
    """Return the results so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(results: dict[str, Any]) -> None:
    """Write results alone, whole or not."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def write(results: dict[str, Any]) -> None:
    """Write results, and the tables and pictures of those that are whole."""
    keep(results)
    for name, publish in _PUBLISH.items():
        if name in results:
            publish(results[name])


def _tokens(results: dict[str, Any]) -> None:
    rows = results["rows"]
    _table("tokens", ("d", "outputs", "instances", "measured", "open", "theory", "with lengths"), [
        [
            f"{row['dim']}",
            row["outputs"],
            f"{row['instances']}",
            f"{row['mean']:,.0f} ± {row['stderr']:.1f}",
            f"{row['open']}",
            f"{row['theory']:,.0f}",
            f"{row['theory_lengths']:,.0f}" if row["theory_lengths"] else "",
        ]
        for row in rows
    ])  # fmt: skip
    save(pictures.tokens(rows, results["lengths"]), FOLDER / "tokens.svg")


def _cities(results: dict[str, Any]) -> None:
    methods = list(dict.fromkeys(row["method"] for row in results["rules"]))
    recalled = {
        (row["labels"], row["asked"], row["method"]): row["recalled"] for row in results["rules"]
    }
    cases = list(dict.fromkeys((row["labels"], row["asked"]) for row in results["rules"]))
    _table("city_rules", ("labels", "cities", *methods), [
        [labels, f"{facts:,}", *(f"{recalled[labels, facts, method]:,}" for method in methods)]
        for labels, facts in cases
    ])  # fmt: skip
    _table("city_decisions", ("labels", "cities", "verdict", "recalled", "steps"), [
        [
            row["labels"],
            f"{row['asked']:,}",
            row["verdict"],
            f"{row['recalled']:,}",
            f"{row['steps']}",
        ]
        for row in results["decisions"]
    ])  # fmt: skip
    _table("city_parts", ("labels", "cities", "largest countries", "their cities", "verdict", "steps"), [
        [
            row["labels"],
            f"{row['asked']:,}",
            f"{row['countries']}",
            f"{row['inside']:,}",
            row["verdict"],
            f"{row['steps']}",
        ]
        for row in results["parts"]
    ])  # fmt: skip
    _table("city_held_out", ("labels", "learnt from", "others asked", "right"), [
        [
            row["labels"],
            f"{row['learnt']:,}",
            f"{row['asked']:,}",
            f"{row['right']:,} ({row['right'] / row['asked']:.1%})",
        ]
        for row in results["held_out"]
    ])  # fmt: skip
    figure = pictures.cities(
        results["rules"], results["decisions"] + results["parts"], results["expected"]
    )
    save(figure, FOLDER / "cities.svg")


def _layers(results: dict[str, Any]) -> None:
    (FOLDER / "encoder_plan.txt").write_text(results["printed"])
    save(pictures.layers(results["ranks"], results["facts"]), FOLDER / "encoder_ranks.svg")


def _model(results: dict[str, Any]) -> None:
    headings = (
        "facts", "method", "recalled, run", "proved", "processor seconds", "perplexity", "next token right",
        "change of the stream",
    )  # fmt: skip
    _table("model", headings, [
        [
            f"{row['facts']:,}",
            row["method"],
            f"{row['stored']:,}",
            f"{row['proved']:,}" if row["method"] == "least change" else "",
            f"{row['seconds']:.0f}" if row["facts"] else "",
            f"{row['perplexity']:.2f}" if row["perplexity"] < 1e4 else f"{row['perplexity']:.0e}",
            f"{row['next_token']:.1%}",
            f"{row['stream_change']:.1%}" if row["facts"] else "",
        ]
        for row in results["rows"]
    ])  # fmt: skip
    save(pictures.model(results["rows"]), FOLDER / "model.svg")


def _keys(results: dict[str, Any]) -> None:
    rows = keys.summaries(results["thresholds"], results["predictions"])
    headings = (
        "keys to head", "case", "instances", "measured", "open", "Gaussian theory", "lengths", "cells",
        "cells, offset", "measured over prediction",
    )  # fmt: skip
    _table("keys", headings, [
        [
            f"{row['dim_in']} to {row['dim_out']}",
            row["case"],
            f"{row['instances']}",
            _with_error(row["facts"], 1),
            f"{row['open']}",
            *(
                _with_error(row[name], 1) if name in keys.corrections(row["case"]) else ""
                for name in keys.PREDICTIONS
            ),
            _with_error(row["over"], 2),
        ]
        for row in rows
    ])  # fmt: skip
    _table("keys_common", ("layer", "mean square in the mean", "dimensions", "condition"), [
        [f"{row['layer']}", f"{row['mean']:.1%}", f"{row['dimensions']:.2f}", f"{row['condition']:.0f}"]
        for row in results["common"]
    ])  # fmt: skip
    if rows:
        save(pictures.keys(rows), FOLDER / "keys.svg")


def _with_error(estimate: Estimate, places: int) -> str:
    """Return a number with its standard error, if it has one: a single instance has none."""
    number = f"{estimate.value:.{places}f}"
    known = 0 < estimate.stderr < math.inf
    return f"{number} ± {estimate.stderr:.{places}f}" if known else number


def _training(results: dict[str, Any]) -> None:
    cells = training.summary(results["rows"])
    headings = (
        "trained", "keys", "rank", "bound", "by parameters", "facts learnt", "over the bound", "seeds",
        "rate", "steps",
    )  # fmt: skip
    _table("efficiency", headings, [
        [
            cell["learner"],
            cell["keys"],
            f"{cell['rank'] or 'full'}",
            f"{cell['bound']:,.0f}",
            f"{cell['by_parameters']:,.0f}",
            f"{cell['facts']:,.0f}",
            _share(cell),
            f"{cell['seeds']}",
            f"{cell['rate']:g}",
            f"{cell['steps']:,.0f}",
        ]
        for cell in cells
    ])  # fmt: skip
    rates = results["settings"]["rates"]
    _table("rates", ("trained", "keys", "rank", "facts", *(f"rate {rate:g}" for rate in rates)), [
        [
            row["learner"],
            row["keys"],
            f"{row['rank'] or 'full'}",
            f"{row['facts']:,}",
            *(f"{recalled / row['facts']:.1%}" for recalled in row["recalled"]),
        ]
        for row in results["rates"]
    ])  # fmt: skip
    save(pictures.training(cells), FOLDER / "efficiency.svg")


def _share(cell: dict[str, Any]) -> str:
    error = cell["efficiency_stderr"]
    return f"{cell['efficiency']:.1%}" + ("" if error is None else f" ± {error:.1%}")


def _editors(results: dict[str, Any]) -> None:
    headings = (
        "facts", "seeds", "method", "layer", "repetition", "paraphrase", "neighbourhood", "perplexity",
        "next token right", "proved", "processor seconds",
    )  # fmt: skip
    parts = [
        f"{_terms(terms)}\n\n{_lines(headings, _edited(means))}"
        for terms, means in editors.tables(results["rows"])
    ]
    (FOLDER / "editors.md").write_text("\n".join(parts))
    save(pictures.editors(editors.tables(results["rows"])[-1][1]), FOLDER / "editors.svg")


def _terms(terms: dict[str, Any]) -> str:
    """Return what a table was measured under, in words."""
    tried = (
        "all settings" if terms["candidates"] is None else f"settings tried: {terms['candidates']}"
    )
    layers = ", ".join(map(str, terms["layers"]))
    return (
        f"Facts: {terms['kind']}. Layers to choose from: {layers}. Tuned on up to {terms['tuned_on']} "
        f"other facts, {tried}. {terms['neighbours']} neighbours, {terms['tokens']:,} tokens of held-out "
        "text."
    )


def _edited(means: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            f"{mean['facts']:,}" if mean["facts"] else "",
            f"{mean['seeds']}" if mean["facts"] else "",
            mean["method"],
            mean["layers"],
            *(
                f"{mean[share]:.0%}" if mean["facts"] else ""
                for share in ("repetition", "paraphrase", "neighbourhood")
            ),
            f"{mean['perplexity']:.2f}"
            if mean["perplexity"] < 1e4
            else f"{mean['perplexity']:.0e}",
            f"{mean['next_token']:.1%}",
            f"{mean['proved']:.0%}" if mean["proved"] else "",
            f"{mean['seconds']:.0f}" if mean["facts"] else "",
        ]
        for mean in means
    ]


def _table(name: str, headings: tuple[str, ...], rows: list[list[str]]) -> None:
    (FOLDER / f"{name}.md").write_text(_lines(headings, rows))


def _lines(headings: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


_PUBLISH: dict[str, Callable[[dict[str, Any]], None]] = {
    "tokens": _tokens,
    "cities": _cities,
    "layers": _layers,
    "model": _model,
    "keys": _keys,
    "training": _training,
    "editors": _editors,
}
