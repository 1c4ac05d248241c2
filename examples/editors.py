"""Facts put into a language model to be understood: what is repeated, what is understood, and what breaks.

Each method is tuned on other facts: its settings and its layer are those of the highest harmonic mean of
repetition, paraphrase and neighbourhood. A row is kept as it comes, and is not measured again.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from examples import smollm
from examples.encoder import MissingExtraError
from examples.questions import KINDS, MOST
from examples.rivals import RIVALS, Changes, Settings
from examples.workbench import Bench
from simonides.arrays import Reals
from simonides.editing.edit import MARGIN
from simonides.editing.language_model import LanguageModel
from simonides.editing.middle import MiddleChange, Spared, applied, recalled, understand
from simonides.editing.ordinary_text import OrdinaryText, python_text
from simonides.editing.storing import place, store
from simonides.editing.text_statistics import second_moments, text_score
from simonides.editing.token_facts import token_facts
from simonides.editing.wordings import wordings

LAST, MIDDLE, JOINED = "last layer", "middle layer", "both joined"
"""Ours."""

METHODS = (LAST, MIDDLE, JOINED, *RIVALS)
"""In the order of the table."""

NONE = "none"
"""The model as it was."""

_TUNING_SEED = 1_000
"""Of the facts that methods are tuned on: no seed of a row."""


@dataclass(frozen=True)
class Plan:
    """What is measured, and how much is spent on tuning.

    ``tuned_on`` is the largest number of facts that settings are tuned on, ``candidates`` how many of a
    method's settings are tried (None: all), ``characters`` how much of the held-out text is foretold.
    """

    kinds: tuple[str, ...] = ("invented", "capitals", "cities")
    sizes: tuple[int, ...] = (10, 50, 200, 1000, 2000)
    seeds: tuple[int, ...] = (0, 1, 2)
    layers: tuple[int, ...] = (4, 8, 12)
    methods: tuple[str, ...] = METHODS
    tuned_on: int = 100
    candidates: int | None = None
    neighbours: int = 100
    characters: int | None = None

    def terms(self) -> dict[str, Any]:
        """Return what a row depends on beside its own facts and method."""
        names = ("layers", "tuned_on", "candidates", "neighbours", "characters")
        values = asdict(self)
        return {name: list(values[name]) if name == "layers" else values[name] for name in names}


@dataclass(eq=False)
class Workshop:
    """A model, a text to spare, what has been read of it, and the facts at hand."""

    model: LanguageModel
    text: OrdinaryText
    plan: Plan
    moments: dict[int, Reals] = field(default_factory=dict)
    benches: dict[tuple[Any, ...], Bench] = field(default_factory=dict)
    middles: dict[Bench, tuple[MiddleChange, float]] = field(default_factory=dict)

    def metric(self, layer: int) -> Reals:
        """Return second moments of what a layer's matrix reads on text."""
        if layer not in self.moments:
            self.moments[layer] = second_moments(self.model.at(layer), self.text.learnt)
        return self.moments[layer]

    def bench(self, kind: str, facts: int, seed: int, layer: int) -> Bench:
        """Return facts at a layer; those at hand are these, and those that methods are tuned on."""
        key = (kind, facts, seed)
        self.benches = {
            own: bench
            for own, bench in self.benches.items()
            if own[:3] == key or (own[0] == kind and _TUNING_SEED in (own[2], seed))
        }
        self.middles = {
            bench: own for bench, own in self.middles.items() if bench in self.benches.values()
        }
        if (*key, layer) not in self.benches:
            questions = KINDS[kind](self.model, facts, self.plan.neighbours, seed)
            model = self.model.at(layer)
            self.benches[*key, layer] = Bench(model, questions, self.metric(layer))
        return self.benches[*key, layer]

    def middle(self, bench: Bench) -> tuple[MiddleChange, float]:
        """Return our change of a layer in the middle, and processor seconds."""
        if bench not in self.middles:
            began = time.process_time()
            change = understand(
                self.model,
                bench.questions.stored,
                Spared(self.text.learnt),
                bench.model.layer,
                None,
                _quiet,
            )
            self.middles[bench] = change, time.process_time() - began
        return self.middles[bench]


def measure(plan: Plan, kept: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Measure in SmolLM2: yield all results so far."""
    if find_spec("peft") is None:
        raise MissingExtraError("peft")
    yield from run(LanguageModel.load(smollm.file()), python_text(), plan, kept)


def run(
    model: LanguageModel, text: OrdinaryText, plan: Plan, kept: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield choices of tuning and rows so far; those that are kept are not measured again."""
    text = replace(text, held_out=text.held_out[: plan.characters])
    results: dict[str, Any] = {name: list(kept.get(name, ())) for name in ("tuned", "rows")}
    workshop, terms = Workshop(model, text, plan), plan.terms()
    if _kept(results["rows"], {"method": NONE, **terms}) is None:
        score = text_score(model, text.held_out)
        results["rows"].append({"method": NONE, "facts": 0, **asdict(score), **terms})
        yield results
    for kind, facts in product(plan.kinds, plan.sizes):
        if facts > MOST.get(kind, facts):
            continue
        missing = [
            (seed, method)
            for seed, method in product(plan.seeds, plan.methods)
            if _kept(results["rows"], _name(kind, facts, method) | {"seed": seed} | terms) is None
        ]
        for seed, method in missing:
            name = _name(kind, min(facts, plan.tuned_on), _tuned_as(method)) | terms
            choice = _kept(results["tuned"], name)
            if choice is None and method != LAST:
                choice = name | tune(workshop, kind, name["facts"], name["method"])
                results["tuned"].append(choice)
                yield results
            choice = choice or {"layer": model.layer, "settings": {}}
            row = measured(workshop, (kind, facts, seed), method, choice)
            results["rows"].append(_name(kind, facts, method) | {"seed": seed} | row | terms)
            yield results


def _name(kind: str, facts: int, method: str) -> dict[str, Any]:
    return {"kind": kind, "facts": facts, "method": method}


def _tuned_as(method: str) -> str:
    """Return the method whose layer and settings a method takes: in the middle ours is the same, joined."""
    return MIDDLE if method == JOINED else method


def _kept(rows: Sequence[dict[str, Any]], wanted: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row of which all this is true."""
    return next(
        (row for row in rows if all(row.get(name) == value for name, value in wanted.items())), None
    )


def tune(workshop: Workshop, kind: str, facts: int, method: str) -> dict[str, Any]:
    """Return the layer and settings of the highest score on facts that no row is about."""
    best: dict[str, Any] = {"score": -1.0}
    plan = workshop.plan
    for layer in plan.layers:
        bench = workshop.bench(kind, facts, _TUNING_SEED, layer)
        for settings, change in _trials(workshop, bench, method):
            # Where there is nothing to choose, nothing need be measured.
            only = method == MIDDLE and len(plan.layers) == 1
            score = 0.0 if only else bench.judge.score(change)
            if score > best["score"]:
                best = {"layer": layer, "settings": settings, "score": score}
    return best


def _trials(workshop: Workshop, bench: Bench, method: str) -> Changes:
    """Yield a method's changes of a layer, and the settings of each."""
    if method == MIDDLE:
        single = len(workshop.plan.layers) == 1
        nothing = np.zeros(bench.model.weight.shape)
        yield {}, nothing if single else workshop.middle(bench)[0].weights
        return
    grid = RIVALS[method].grid
    count = len(grid) if workshop.plan.candidates is None else workshop.plan.candidates
    # From the middle of the grid, where there are fewer to try than it has.
    near = sorted(range(len(grid)), key=lambda row: abs(row - (len(grid) - 1) / 2))
    for row in sorted(near[:count]):
        yield from RIVALS[method].changes(bench, **grid[row])


def measured(
    workshop: Workshop, facts: tuple[str, int, int], method: str, choice: dict[str, Any]
) -> dict[str, Any]:
    """Return what the model with a method's change does when it runs."""
    bench = workshop.bench(*facts, choice["layer"])
    proved = 0
    if method in RIVALS:
        change, seconds = _rival(bench, method, choice["settings"])
        edited = bench.model.changed(change)
    else:
        edited, seconds, proved = _ours(workshop, bench, method)
    model, questions = workshop.model, bench.questions
    around, present = bench.around
    held_out = wordings(questions.held_out, model.tokenizer, model.longest)
    with edited:
        repeated, understood = (recalled(model, ways) for ways in (bench.ways, held_out))
        same = np.equal(model.next_tokens(around), present)
        score = text_score(model, workshop.text.held_out)
    return {
        "layer": choice["layer"], "settings": choice["settings"],
        "repetition": float(repeated.mean()), "paraphrase": float(understood.mean()),
        "neighbourhood": float(same.mean()), "seconds": seconds, "proved": proved,
        "wanted": sum(len(way.answer) for way in bench.ways), **asdict(score),
    }  # fmt: skip


def _rival(bench: Bench, method: str, settings: Settings) -> tuple[Reals, float]:
    """Return a rival's change, and processor seconds: values among them, what is read before not."""
    rival = RIVALS[method]
    before = bench.valued.seconds if rival.valued else 0.0
    if not rival.valued:
        _ = bench.above  # read now
    began = time.process_time()
    for _settings, change in rival.changes(bench, **settings):
        written = bench.model.written(change)
    return written, before + time.process_time() - began


def _ours(
    workshop: Workshop, bench: Bench, method: str
) -> tuple[AbstractContextManager[Any], float, int]:
    """Return our change as a block to run the model in, processor seconds, and tokens proved."""
    model, seconds = workshop.model, 0.0
    middle: MiddleChange | None = None
    if method != LAST:
        middle, seconds = workshop.middle(bench)
    if method == MIDDLE:
        return applied(middle, model), seconds, 0
    learnt = token_facts(bench.questions.stored, model.tokenizer, model.longest)
    with applied(middle, model):
        placed = place(model, learnt, [], MARGIN)
        metric = (
            workshop.metric(model.layer)
            if middle is None
            else second_moments(model, workshop.text.learnt)
        )
        began = time.process_time()
        stored = store(model, placed, metric)
        seconds += time.process_time() - began
    return _both(model, middle, stored.change), seconds, stored.proof.facts


@contextmanager
def _both(model: LanguageModel, middle: MiddleChange | None, change: Reals) -> Iterator[None]:
    with applied(middle, model), model.changed(change):
        yield


def _quiet(_line: str) -> None:
    """Show nothing."""


def tables(rows: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return for each kind of facts and terms of measuring these, and means over seeds, none first."""
    terms = [name for name in (*Plan().terms(), "tokens") if name in rows[0]]
    groups: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for row in rows:
        if row["method"] == NONE:
            continue
        own = {"kind": row["kind"], **{name: row[name] for name in terms}}
        if own not in [other for other, _ in groups]:
            groups.append((own, []))
    for own, means in groups:
        same = [row for row in rows if _matches(row, own)]
        means += [_mean([row]) for row in same if row["method"] == NONE]
        for facts, method in product(sorted({row["facts"] for row in same} - {0}), METHODS):
            part = [row for row in same if (row["facts"], row["method"]) == (facts, method)]
            if part:
                means.append(_mean(part))
    return groups


def _matches(row: dict[str, Any], own: dict[str, Any]) -> bool:
    """Whether a row was measured under these terms; that of no change is of every kind."""
    return all(row.get(name, value) == value for name, value in own.items())


def _mean(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return means of the rows of one method, with how many seeds and which layers."""
    shares = ("repetition", "paraphrase", "neighbourhood", "perplexity", "next_token", "seconds")
    return {
        **{name: float(np.mean([row[name] for row in rows])) for name in shares if name in rows[0]},
        "facts": rows[0]["facts"],
        "method": rows[0]["method"],
        "seeds": len(rows),
        "layers": ", ".join(str(layer) for layer in sorted({row.get("layer", "") for row in rows})),
        "proved": float(np.mean([row.get("proved", 0) / row.get("wanted", 1) for row in rows])),
    }
