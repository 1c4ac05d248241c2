"""How many facts each linear layer could hold: at full rank, and as a low-rank adapter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from simonides import arguments
from simonides.formatting import count
from simonides.planner.model import Layer, Model
from simonides.theory.capacity import facts_of
from simonides.theory.notes import deviations
from simonides.theory.setting import Setting

CLAIM = (
    "An upper bound for arbitrary key-to-value facts in one linear map with fixed generic embeddings; "
    "not a promise about a whole trained network."
)

_MOST_SHAPES = 256
"""Each takes milliseconds, with a rank bound up to a second: a pruned model of 80 blocks has some 240."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The facts that one matrix can hold among so many candidates; each costs ``price`` parameters."""

    setting: Setting
    facts: float
    facts_stderr: float
    price: float

    @property
    def rank(self) -> int:
        """The rank bound, or the smaller dimension where there is none."""
        least = min(self.setting.dim_in, self.setting.dim_out)
        return least if self.setting.rank is None else self.setting.rank

    @property
    def bits_per_parameter(self) -> float:
        """Bits that the facts say, over free parameters."""
        return self.setting.bits_per_parameter(self.facts)

    @property
    def criterion(self) -> str:
        """What counts as holding a fact, and with what matrix."""
        assert self.setting.candidates is not None  # a plan always has them
        full = self.setting.rank is None
        rank = "full rank" if full else f"rank at most {self.setting.rank:,}"
        return f"{rank}; every target beats each of its {self.setting.candidates - 1:,} rivals"


@dataclass(frozen=True, slots=True)
class LayerBounds:
    """A layer and its bounds; ``lora`` is None unless a rank was asked for."""

    layer: Layer
    full: Bound
    lora: Bound | None


@dataclass(frozen=True, slots=True)
class Total:
    """All matrices of a plan, each as a memory of its own."""

    matrices: int
    parameters: int
    facts: float
    facts_stderr: float
    bits_per_parameter: float
    criterion: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What the layers of a model could hold.

    Attributes
    ----------
    model : Model
        The model as it was read.
    candidates : int
        Outputs that compete for each fact.
    lora_rank : int or None
        Rank of an update, for which there is a second column.
    rows : tuple of LayerBounds
        Each kind of matrix, with what it could hold.

    Examples
    --------
    >>> from simonides import read_model
    >>> whole = plan(read_model("gpt2"))
    >>> whole.candidates, whole.total.matrices, whole.total.parameters
    (50257, 48, 84934656)
    """

    model: Model
    candidates: int
    lora_rank: int | None
    rows: tuple[LayerBounds, ...]

    @property
    def total(self) -> Total:
        """The sum over all matrices at full rank."""
        return self._sum([(row.layer.count, row.full) for row in self.rows])

    @property
    def total_lora(self) -> Total | None:
        """The sum over all adapters, if a rank was asked for."""
        adapters = [(row.layer.count, row.lora) for row in self.rows if row.lora is not None]
        return self._sum(adapters) if adapters else None

    def _sum(self, bounds: list[tuple[int, Bound]]) -> Total:
        parameters = sum(number * bound.setting.parameters for number, bound in bounds)
        facts = sum(number * bound.facts for number, bound in bounds)
        # Matrices of one shape share their sampling error, so it adds up; between shapes that is cautious.
        stderr = sum(number * bound.facts_stderr for number, bound in bounds)
        return Total(
            matrices=sum(number for number, _ in bounds),
            parameters=parameters,
            facts=facts,
            facts_stderr=stderr,
            bits_per_parameter=facts * math.log2(self.candidates) / parameters,
            criterion="each matrix by itself, as its layer's criterion says",
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Short names of the layers, row by row."""
        short = self.model.names
        return tuple(short[row.layer.name] for row in self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before relying on the numbers."""
        notes = [
            f"Held means that every target beats each of its {self.candidates - 1:,} rivals.",
            CLAIM,
            "The total takes each matrix as a memory of its own, which the layers of a network are not.",
        ]
        notes += [self._state_note(state) for state in self.model.states]
        named = list(zip(self.names, self.rows, strict=True))
        if capped := [name for name, row in named if row.layer.shortest < (self.lora_rank or 0)]:
            notes.append(
                "No rank exceeds the smaller dimension: full rank stands for rank "
                f"{self.lora_rank:,} in {', '.join(capped)}."
            )
        by_note: dict[str, list[str]] = {}
        for name, row in named:
            for bound in filter(None, (row.full, row.lora)):
                for note in deviations(bound.setting, bound.facts).values():
                    by_note.setdefault(note, []).append(name)
        for note, names in by_note.items():
            everywhere = len(set(names)) == len(self.rows)
            notes.append(note if everywhere else f"{', '.join(dict.fromkeys(names))}: {note}")
        return tuple(notes)

    def _state_note(self, state: Layer) -> str:
        held = bound(Setting(state.dim_in, state.dim_out, self.candidates)).facts
        return (
            f"The state of each block is a {state.dim_out:,} x {state.dim_in:,} matrix that every text "
            f"writes anew: as a memory of its own it could hold {count(held)} facts of that text. The "
            "total leaves it out."
        )


def plan(model: Model, *, candidates: int | None = None, lora_rank: int | None = None) -> Plan:
    """Return how many arbitrary facts each linear layer of a model can hold at most.

    Each layer by itself, as in :func:`simonides.capacity` at fixed candidates.

    Parameters
    ----------
    model : Model
        From :func:`simonides.planner.source.read_model`.
    candidates : int, optional
        Outputs that compete. Default: the model's vocabulary.
    lora_rank : int, optional
        Also as adapters of this rank; a layer whose smaller dimension is less has its full rank.

    Returns
    -------
    Plan
        Bounds layer by layer, totals and notes.

    Raises
    ------
    ValueError
        If the vocabulary is unknown and no candidates are given, for a rank that no layer can have, and for
        layers of more than 256 shapes.

    Examples
    --------
    >>> from simonides.planner.source import read_model
    >>> first = plan(read_model("gpt2"), lora_rank=16).rows[0]
    >>> round(first.full.facts), round(first.lora.facts)
    (122474, 6013)
    """
    arguments.instance("model", model, Model, "read_model gives one")
    if candidates is None and model.vocabulary is None:
        raise arguments.refuse(
            "candidates",
            candidates,
            f"given, for {model.source} does not say its vocabulary",
            "pass --candidates with the number of outputs that compete",
        )
    competing = model.vocabulary if candidates is None else candidates
    shapes = len({(layer.dim_in, layer.dim_out) for layer in model.layers})
    if shapes > _MOST_SHAPES:
        raise arguments.refuse(
            "file",
            model.source,
            f"a model whose layers have at most {_MOST_SHAPES} shapes, not {shapes:,}",
            "pass --layers with a pattern for some of them",
        )
    if lora_rank is not None:
        most = max(layer.shortest for layer in model.layers)
        arguments.whole("lora_rank", lora_rank, remedy="pass the rank of the adapters")
        if lora_rank > most:
            raise arguments.refuse(
                "lora_rank",
                lora_rank,
                f"at most {most}",
                "no rank exceeds the smaller dimension, and no layer has a larger one",
            )
    rows = []
    for layer in model.layers:
        full = bound(Setting(layer.dim_in, layer.dim_out, competing, layer.rank))
        lora = None if lora_rank is None else bound(at_rank(full.setting, lora_rank))
        rows.append(LayerBounds(layer, full, lora))
    assert competing is not None  # or it was refused above
    return Plan(model, int(competing), lora_rank, tuple(rows))


def at_rank(setting: Setting, rank: int) -> Setting:
    """Return the setting with a rank bound, or its full rank where that is no more."""
    most = min(setting.dim_in, setting.dim_out)
    return Setting(setting.dim_in, setting.dim_out, setting.candidates, min(rank, most))


@lru_cache(maxsize=4096)
def bound(setting: Setting) -> Bound:
    """Return the capacity at fixed candidates.

    The ``facts`` of :func:`simonides.theory.capacity.capacity_of`, without the rules it compares with.
    """
    assert setting.candidates is not None
    facts = facts_of(setting)
    return Bound(setting, facts.value, facts.stderr, setting.price(setting.candidates).value)
