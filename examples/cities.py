"""City to country: how many real facts one 384 x 384 map recalls, by rule and at best."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from examples.coordinates import own_directions
from examples.world import World, by_size
from simonides import OriginalProblem, capacity, decide
from simonides.arrays import Integers, Reals
from simonides.solvers.rules.hebbian import hebbian
from simonides.solvers.rules.pseudo_inverse import pseudo_inverse

ASKED = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
"""Numbers of cities that the rules are asked to store; then all of them."""

TRIALS: Mapping[str, tuple[int, ...]] = {
    "true": (8_000, 9_000),
    "shuffled": (3_000, 3_300, 3_600),
    "drawn evenly": (12_000, 14_000, 19_000),
}
"""Numbers of cities at which the optimal memory decides, by labels; closer to the edge it takes longer."""

PARTS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "true": ((3, 12_000), (8, 10_500)),
    "shuffled": ((4, 3_600),),
}
"""So many of the largest countries, and numbers of cities at which these countries alone decide."""

MAX_STEPS = 400
"""Newton steps after which a decision is given up."""

_SEED = 1


@dataclass(frozen=True, eq=False)
class Atlas:
    """Vectors of cities and countries, as the encoder gives them, and three ways to label cities."""

    world: World

    @cached_property
    def vectors(self) -> tuple[Reals, Reals]:
        """Cities and countries as the encoder gives them."""
        return self.world.city_vectors(), self.world.country_vectors()

    @cached_property
    def whitened(self) -> tuple[Reals, Reals]:
        """The same in the directions they have, of unit size: every map of one is a map of the other."""
        cities, countries = self.vectors
        return own_directions(cities, centred=False), own_directions(countries, centred=True)

    @cached_property
    def labels(self) -> dict[str, Integers]:
        """The country of each city: the true one, that of another city, or any, all equally likely."""
        home = self.world.home
        of_shuffled, of_even = np.random.default_rng(_SEED).spawn(2)
        return {
            "true": home,
            "shuffled": of_shuffled.permutation(home),
            "drawn evenly": of_even.integers(len(self.world.countries), size=len(home)),
        }

    def problem(self, labels: str, facts: int, *, whitened: bool) -> OriginalProblem:
        """Return the first facts with such labels."""
        cities, countries = self.whitened if whitened else self.vectors
        return OriginalProblem(cities[:facts], countries, self.labels[labels][:facts])

    def part(self, labels: str, facts: int, largest: int) -> OriginalProblem:
        """Return those of the first facts that are of the largest countries, among these countries alone.

        Its comparisons are some of the whole's: where no map stores the part, none stores the whole.
        """
        chosen = np.sort(by_size(self.world.home)[:largest])
        homes = self.labels[labels][:facts]
        inside = np.isin(homes, chosen)
        return OriginalProblem(
            self.whitened[0][:facts][inside],
            own_directions(self.vectors[1][chosen], centred=True),
            np.searchsorted(chosen, homes[inside]),
        )


RULES: dict[str, Callable[[Atlas, str, int], int]] = {
    "Hebbian": lambda atlas, labels, facts: (
        hebbian(atlas.problem(labels, facts, whitened=False)).recalled
    ),
    "pseudo-inverse": lambda atlas, labels, facts: (
        pseudo_inverse(atlas.problem(labels, facts, whitened=False)).recalled
    ),
    "pseudo-inverse, whitened": lambda atlas, labels, facts: (
        pseudo_inverse(atlas.problem(labels, facts, whitened=True)).recalled
    ),
}


def by_rule(atlas: Atlas) -> Iterator[dict[str, Any]]:
    """Yield what each rule recalls, for more and more cities."""
    for labels in atlas.labels:
        for facts in (*ASKED, len(atlas.world.cities)):
            for rule, recalled in RULES.items():
                yield {
                    "labels": labels,
                    "asked": facts,
                    "method": rule,
                    "recalled": recalled(atlas, labels, facts),
                }


LEARNT_FROM = (1_000, 2_000, 4_000, 8_000, 16_000, 24_000)
"""Numbers of cities from which the whitened pseudo-inverse guesses the countries of the last ones."""


def held_out(atlas: Atlas) -> Iterator[dict[str, Any]]:
    """Yield how many cities that it never saw the whitened pseudo-inverse gets right."""
    cities, countries = atlas.whitened
    first = max(LEARNT_FROM)
    for labels in ("true", "shuffled"):
        homes = atlas.labels[labels]
        for number in LEARNT_FROM:
            weights = pseudo_inverse(atlas.problem(labels, number, whitened=True)).weights
            guessed = (cities[first:] @ weights.T @ countries.T).argmax(axis=1)
            right = int(np.count_nonzero(guessed == homes[first:]))
            yield {"labels": labels, "learnt": number, "asked": len(guessed), "right": right}


def decision(atlas: Atlas, labels: str, facts: int, max_steps: int = MAX_STEPS) -> dict[str, Any]:
    """Return whether the optimal memory stores so many facts, with proof, and how long that takes."""
    problem = atlas.problem(labels, facts, whitened=True)
    return {"labels": labels, "asked": facts, **_decided(problem, max_steps)}


def part_decision(
    atlas: Atlas, labels: str, facts: int, largest: int, max_steps: int = MAX_STEPS
) -> dict[str, Any]:
    """Return whether the largest countries among so many facts can be stored without the others."""
    problem = atlas.part(labels, facts, largest)
    return {
        "labels": labels,
        "asked": facts,
        "countries": largest,
        "inside": problem.facts,
        **_decided(problem, max_steps),
    }


def _decided(problem: OriginalProblem, max_steps: int) -> dict[str, Any]:
    decision = decide(problem, max_steps=max_steps, threads=1)
    return {
        "verdict": str(decision.verdict),
        "recalled": decision.solution.recalled,
        "steps": decision.solution.steps,
        "max_steps": max_steps,
        "seconds": decision.seconds,
    }


def part_decisions(atlas: Atlas) -> Iterator[dict[str, Any]]:
    """Yield the decisions of ``PARTS``."""
    for labels, parts in PARTS.items():
        for largest, facts in parts:
            yield part_decision(atlas, labels, facts, largest)


def decisions(
    atlas: Atlas,
    trials: Mapping[str, tuple[int, ...]] = TRIALS,
    max_steps: int = MAX_STEPS,
    jobs: int = 1,
) -> Iterator[dict[str, Any]]:
    """Yield decisions for each number of cities, by labels; every one is on its own."""
    tasks = (
        delayed(decision)(atlas, labels, facts, max_steps)
        for labels, numbers in trials.items()
        for facts in numbers
    )
    yield from Parallel(n_jobs=jobs, return_as="generator")(tasks)


def expected(atlas: Atlas) -> dict[str, float | None]:
    """Return how many facts theory lets fit, for inputs without structure and random labels.

    Labels that are drawn evenly are what theory is about. Where a few countries have most cities, these
    alone are a problem with few candidates: it must be storable too, and the hardest of them binds.
    Of true labels theory says nothing.
    """
    cities, countries = (part.shape[1] for part in atlas.whitened)
    shares = np.sort(np.bincount(atlas.world.home))[::-1].cumsum() / len(atlas.world.home)
    bounds = [
        capacity(cities, countries, candidates=number).facts / shares[number - 1]
        for number in range(2, len(shares) + 1)
    ]
    return {"true": None, "shuffled": float(min(bounds)), "drawn evenly": float(bounds[-1])}
