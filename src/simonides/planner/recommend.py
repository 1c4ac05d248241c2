"""One recommendation for a number of facts: is capacity the limit, which rank, and its PEFT spelling."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from simonides import arguments
from simonides.formatting import short
from simonides.planner.model import Layer, Model, module_keys, out_of_reach, target_modules
from simonides.planner.plan import LayerBounds, Plan, at_rank, bound
from simonides.theory.requirements import first, smallest_rank
from simonides.theory.setting import Setting

EFFICIENCY: dict[str, tuple[float, float]] = {
    "all matrices": (0.33, 0.33),
    "one matrix": (0.07, 0.07),
}
"""Least and largest share of the bound that LoRA was measured to learn at ranks from two on: in all
matrices of a small network, and in one of a language model (the example of training)."""

SPARE = 0.25
"""Share of capacity that the facts may take: less than training reached in all matrices, and ranks that
leave this much room cost little."""

LEAST_RANK = 4
"""Smallest rank recommended: at rank one only two targets can win, and at rank two theory is too high."""

ALPHA = 2
"""``lora_alpha`` over the rank, as is common."""

_NOTE = (
    "Capacity is an upper bound: below the smallest rank there is no room, and whether a larger one is "
    "enough, only training can show."
)
_PLACES = {
    "all matrices": "in all matrices of a small network",
    "one matrix": "in one matrix of a language model",
}
"""Where it was measured."""

_OTHER_NAMES = (
    "These are llama.cpp's names, not those that PEFT goes by: pass the model's config.json or its name "
    "for a LoraConfig."
)
_OUT_OF_REACH = "Left out, as PEFT cannot adapt them by target_modules: {names}."


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do for a number of facts.

    Attributes
    ----------
    facts : int
        How many are to be stored.
    tokens_per_fact : float
        Tokens that each has to recall; every token is stored as a fact of its own.
    rank : int or None
        The rank to choose; None if not even full rank has room.
    smallest_rank : int or None
        The smallest at which the layers together have room at all.
    layers : tuple of Layer
        Those to adapt.
    target_modules : tuple of str, or str
        The same as PEFT finds them: ends of names, or a regular expression.
    rank_pattern : dict
        Smaller ranks, of layers that have no larger one, as PEFT spells them.
    parameters : int
        Entries of all factors at that rank, which are trained.
    capacity : float
        Tokens that the layers could hold at that rank, at full rank if there is none.
    bits : float
        What the facts say, each token as much as one of its candidates.
    limit : str
        What sets the number of facts: ``capacity``, or else ``training``.
    sentence : str
        Whether capacity is the limit.
    alone : tuple of int or None
        For each row of the plan the rank at which one such matrix holds all; None if no rank does.
    notes : tuple of str
        What the numbers promise and leave out.

    Examples
    --------
    >>> from simonides import plan, read_model
    >>> advice = recommend(plan(read_model("gpt2")), 20_000)
    >>> advice.rank, advice.parameters, advice.limit
    (8, 1179648, 'capacity')
    """

    facts: int
    tokens_per_fact: float
    rank: int | None
    smallest_rank: int | None
    layers: tuple[Layer, ...]
    target_modules: tuple[str, ...] | str
    rank_pattern: dict[str, int]
    parameters: int
    capacity: float
    bits: float
    limit: str
    sentence: str
    alone: tuple[int | None, ...]
    notes: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """What has to be recalled in all."""
        return math.ceil(self.facts * self.tokens_per_fact)

    @property
    def share_of_capacity(self) -> float:
        """Share of the capacity that the facts take."""
        return self.tokens / self.capacity

    @property
    def lora_config(self) -> str | None:
        """Python for PEFT, to be pasted; None if no rank has room, and for names that are not PEFT's."""
        if self.rank is None or _has_other_names(self.layers):
            return None
        modules = self.target_modules
        names = repr(modules if isinstance(modules, str) else list(modules))
        pattern = f"    rank_pattern={self.rank_pattern!r},\n" if self.rank_pattern else ""
        return (
            f"LoraConfig(\n    r={self.rank},\n    lora_alpha={ALPHA * self.rank},\n"
            f"    target_modules={names},\n{pattern})"
        )


def recommend(plan: Plan, facts: int, *, tokens_per_fact: float = 1.0) -> Recommendation:
    """Return the rank at which the layers of a plan have room to spare for that many facts.

    Ranks are doubled from 4 until the facts take at most a quarter of what the layers could hold together,
    which is less than training was measured to reach. Unless layers were selected, these are all linear
    ones of the blocks, without output head, images and experts. For an adapter it is said how full the
    facts would make it.

    Parameters
    ----------
    plan : Plan
        What the layers could hold.
    facts : int
        How many they are to hold.
    tokens_per_fact : float
        Tokens that a fact has to recall, on average: a phone number has several.

    Returns
    -------
    Recommendation
        A rank, what it uses, and its spelling for PEFT.

    Raises
    ------
    ValueError
        For a number of facts or tokens that is none, and for layers of which PEFT reaches none.

    Examples
    --------
    >>> from simonides.planner.plan import plan
    >>> from simonides.planner.source import read_model
    >>> advice = recommend(plan(read_model("gpt2")), 20_000)
    >>> advice.rank, advice.smallest_rank, advice.target_modules
    (8, 2, ('c_attn', 'c_proj', 'c_fc'))
    """
    arguments.instance("plan", plan, Plan, "simonides.plan gives one")
    facts = arguments.whole("facts", facts, remedy="pass the number of facts to store")
    remedy = "pass how many tokens a fact has to recall"
    each = arguments.positive("tokens_per_fact", tokens_per_fact, remedy=remedy)
    tokens = math.ceil(facts * each)
    rows = _common(plan)
    layers = tuple(row.layer for row in rows)
    most = max(layer.shortest for layer in layers)
    smallest = None
    if _held(rows, most) >= tokens:
        # At rank one a matrix holds two facts at most, and of many matrices nobody wants that.
        start = min(2 if tokens > 2 else 1, most)
        smallest = first(lambda rank: _held(rows, rank) >= tokens, start, most)
    own = max(layer.rank or 0 for layer in layers)
    rank = own or (None if smallest is None else _roomy(rows, tokens))
    used = most if rank is None else rank
    held = plan.total.facts if own else _held(rows, used)
    ranks = [min(used, layer.rank or layer.shortest) for layer in layers]
    return Recommendation(
        facts=facts,
        tokens_per_fact=each,
        rank=rank,
        smallest_rank=smallest,
        layers=layers,
        target_modules=target_modules(plan.model, layers),
        rank_pattern=_pattern(plan.model, layers, ranks),
        parameters=sum(
            layer.count * rank * (layer.dim_in + layer.dim_out)
            for layer, rank in zip(layers, ranks, strict=True)
        ),
        capacity=held,
        bits=tokens * math.log2(plan.candidates),
        limit="training"
        if tokens <= SPARE * held and (own or rank == _least(layers))
        else "capacity",
        sentence=_filled(tokens, held) if own else _sentence(rows, tokens, rank),
        alone=tuple(_alone(row.full.setting, tokens) for row in plan.rows),
        notes=_notes(plan),
    )


def _roomy(rows: tuple[LayerBounds, ...], tokens: int) -> int:
    """Return the first rank with room to spare, doubled from the least one, or full rank."""
    layers = tuple(row.layer for row in rows)
    most = max(layer.shortest for layer in layers)
    rank = _least(layers)
    while rank < most and _held(rows, rank) * SPARE < tokens:
        rank = min(2 * rank, most)
    return rank


def _common(plan: Plan) -> tuple[LayerBounds, ...]:
    """Return the rows to adapt: those that were selected, or else all in the blocks of a model of text."""
    if any(row.layer.rank for row in plan.rows):  # an adapter is where it is
        return plan.rows
    beyond = out_of_reach(plan.model)
    reached = [row for row in plan.rows if row.layer.name not in beyond]
    blocks = [row for row in reached if "*" in row.layer.name and "vision" not in row.layer.name]
    rows = reached if plan.model.apart else blocks or reached
    if not rows:
        names = ", ".join(plan.names)
        raise arguments.refuse("layers", names, "some that PEFT can adapt", "choose others")
    return tuple(rows)


def _has_other_names(layers: tuple[Layer, ...]) -> bool:
    """Whether layers are named as llama.cpp does, and not as PEFT finds them."""
    return any(layer.name.startswith("blk.") for layer in layers)


def _least(layers: tuple[Layer, ...]) -> int:
    return min(LEAST_RANK, max(layer.shortest for layer in layers))


def _held(rows: tuple[LayerBounds, ...], rank: int) -> float:
    return sum(row.layer.count * bound(at_rank(row.full.setting, rank)).facts for row in rows)


def _pattern(model: Model, layers: tuple[Layer, ...], ranks: list[int]) -> dict[str, int]:
    """Return the ranks of layers that do not have the largest one."""
    keys, most = module_keys(model), max(ranks)
    smaller = {
        keys[layer.name]: rank for layer, rank in zip(layers, ranks, strict=True) if rank < most
    }
    # PEFT takes the first key that fits the end of a module's name: the longer ones come first.
    return dict(sorted(smaller.items(), key=lambda item: -item[0].count(".")))


def _filled(tokens: int, held: float) -> str:
    verdict = "capacity is not its limit" if tokens <= SPARE * held else "capacity is its limit"
    return f"Your facts would fill {tokens / held:.2%} of what this adapter could hold: {verdict}."


def _sentence(rows: tuple[LayerBounds, ...], tokens: int, rank: int | None) -> str:
    layers = tuple(row.layer for row in rows)
    least = _least(layers)
    times = _held(rows, least) / tokens
    if rank is None:
        most = max(layer.shortest for layer in layers)
        share = tokens / _held(rows, most)
        return (
            f"Capacity is your limit: even at full rank your facts would take {share:.0%} of what these "
            "layers could hold."
        )
    if rank == least:
        return (
            f"At rank {rank} these layers have room for {_times(times)} your facts: capacity is not your "
            "limit."
        )
    return (
        f"Capacity sets the rank: at rank {least} these layers have room for {_times(times)} your facts, "
        f"at rank {rank:,} for {_times(_held(rows, rank) / tokens)}."
    )


def _shares(ends: tuple[float, float]) -> str:
    return " to ".join(f"{share:.0%}" for share in dict.fromkeys(ends))


def _times(ratio: float) -> str:
    return f"{short(float(f'{ratio:.2g}'))} times"


def _notes(plan: Plan) -> tuple[str, ...]:
    reached = ", ".join(
        f"{_shares(EFFICIENCY[name])} of it {place}" for name, place in _PLACES.items()
    )
    notes = [_NOTE, f"Training reached {reached}."]
    if _has_other_names(plan.model.layers):
        notes.append(_OTHER_NAMES)
    own = any(row.layer.rank for row in plan.rows)
    beyond = set() if own else out_of_reach(plan.model)
    if names := [
        name for name, row in zip(plan.names, plan.rows, strict=True) if row.layer.name in beyond
    ]:
        notes.append(_OUT_OF_REACH.format(names=", ".join(names)))
    return tuple(notes)


@lru_cache(maxsize=4096)
def _alone(setting: Setting, facts: int) -> int | None:
    full = replace(setting, rank=None)
    return smallest_rank(full, facts) if bound(full).facts >= facts else None
