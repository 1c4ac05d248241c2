r"""The way back under a causal mask, position by position.

Query t sees keys 1 to t: its row is a softmax over t scores, and a key is seen by all later queries.
Positions are gathered in groups k of :math:`w_k` with about :math:`n_k` keys; :math:`D_k` and
:math:`X_{kl}` are the squared gradient at a position of group k and the product of those at two. A row's
weight is shared among its keys alike, so that a key in group j gets by way of the values

.. math:: \sigma_V^2 \Bigl[\sum_k N_{kj} \frac{Y_k}{n_k} D_k
    + \sum_{kl} N_{klj} \frac{O_{kl}}{\min(n_k, n_l)} X_{kl}\Bigr]

from the :math:`N_{kj}` queries that see it and the :math:`N_{klj}` pairs of them; two keys share the rest,
:math:`1 - Y_k` over :math:`n_k(n_k - 1)` pairs. The keys' own path has :math:`\Gamma` in place of Y, and
minus it for the rest. Two queries with different numbers of keys overlap as the one with fewer does with
itself, times the chance that the other looks there: :math:`O_{kl} = O_{kk}\,n_k/n_l` for
:math:`n_k < n_l`, exact for even and for independent attention. Early positions
average over few keys and keep more of their norm, which LayerNorms divide by.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from simonides.arrays import Reals
from simonides.signal.maps.backward import FullMask, Gradient, norm_slope, query_scale, value_scale
from simonides.signal.maps.forward import NOTHING, BlockState, Gains, Statistics

_GROWTH = 1.35
"""From group to group; the first four positions stand alone, and a thousand make some twenty groups."""

_NODES = 4
"""Ratio of the numbers of keys at which statistics are computed, those between being interpolated.

They vary slowly with the logarithm of the number; every node costs a table.
"""


class Rows(NamedTuple):
    """Statistics of rows: of each group, and (overlaps) of each two.

    Y and O of what values are mixed with, the factors Γ and Γ12 of keys, and those of queries.
    """

    participation: Reals
    overlap: Reals
    gradient: Reals
    gradient_overlap: Reals
    query: Reals
    query_overlap: Reals


@dataclass(frozen=True)
class CausalMask(FullMask):
    """A query sees the keys before it, and its own."""

    statistics: Callable[[int], Statistics]
    """Statistics of attention over a number of keys."""

    @cached_property
    def _edges(self) -> list[tuple[int, int]]:
        """Return first and last position of each group."""
        groups, first = [], 1
        while first <= self.architecture.tokens:
            last = max(first, math.ceil(first * _GROWTH) - 1)
            groups.append((first, min(last, self.architecture.tokens)))
            first = last + 1
        return groups

    @cached_property
    def widths(self) -> Reals:
        """Return how many positions each group has."""
        return np.array([last - first + 1.0 for first, last in self._edges])

    @cached_property
    def counts(self) -> Reals:
        """Return how many keys a query of each group sees: the harmonic mean."""
        return np.array(
            [(b - a + 1) / float(np.sum(1 / np.arange(a, b + 1.0))) for a, b in self._edges]
        )

    @cached_property
    def _seeing(self) -> Reals:
        """Return N: queries of each group (first axis) that see a key of another."""
        size = len(self.widths)
        later = np.tril(np.ones((size, size)), -1) * self.widths[:, None]
        return later + np.diag((self.widths + 1) / 2)

    @cached_property
    def _seeing_both(self) -> Reals:
        """Return queries of each group (first axis) that see both of two keys."""
        size = len(self.widths)
        last = np.maximum(np.arange(size)[:, None], np.arange(size))
        both = self._seeing[:, last]
        for k in range(size):
            both[k, k, k] = (self.widths[k] + 1) / 3
        return both

    @cached_property
    def _pairs(self) -> Reals:
        """Return how many ordered pairs of two positions two groups have."""
        return np.outer(self.widths, self.widths) - np.diag(self.widths)

    def start(self, shape: tuple[int, ...]) -> Gradient:
        """Return the gradient that a random loss sends back."""
        size = len(self.widths)
        return Gradient(np.ones((size, *shape)), np.zeros((size, size, *shape)))

    def means(self, back: Gradient) -> tuple[Reals, Reals]:
        """Return D and X averaged over positions."""
        tokens = self.architecture.tokens
        own = np.tensordot(self.widths, back.own, 1) / tokens
        shared = np.tensordot(self._pairs, back.shared, 2) / (tokens * (tokens - 1))
        return own, shared

    def excess(self, gains: Gains, layers: list[BlockState]) -> list[tuple[Reals, Reals]]:
        """Return by how much streams of early positions exceed late ones', before attention and MLP."""
        pairs, more = [], np.zeros(())
        if self.architecture.norm == "post":
            return [(more, more)] * len(layers)
        for layer in layers:
            at_attention = more
            more = gains.attention_skip**2 * more + self._surplus(gains, layer)
            pairs.append((at_attention, more))
            if layer.at_mlp is not None:
                more = gains.mlp_skip**2 * more
        return pairs

    def before_norm(self, gains: Gains, layer: BlockState, back: Gradient) -> Gradient:
        """Return the gradient before the LayerNorm that follows post-norm attention."""
        after = layer.at_attention
        surplus = self._surplus(gains, layer) / np.maximum(after.stream, NOTHING)
        return back.over((1 + surplus) / norm_slope(after))

    def _surplus(self, gains: Gains, layer: BlockState) -> Reals:
        """Return the norm that attention puts out at each group's positions, beyond that of the last."""
        own = self._rows(layer).participation
        more: Reals = gains.attention_variance * layer.at_attention.relative * (own - own[-1:])
        return more

    def attention(self, gains: Gains, layer: BlockState, back: Gradient) -> Gradient:
        """Return what attention sends back by its values, queries and keys."""
        rows, gap = self._rows(layer), layer.at_attention.relative
        tokens = self.architecture.tokens
        through_scores = layer.beta**2 * np.log(tokens) * gains.attention_variance
        own, pair = rows.participation, rows.overlap
        rest = 0.0 if self.architecture.centred else 1.0
        value = self._to_keys(back, own, pair, rest - own, rest - pair)
        aligned = (1 - gap) * rows.gradient_overlap
        key = self._to_keys(back, rows.gradient, aligned, -rows.gradient, -aligned)
        query = Gradient(rows.query * back.own, rows.query_overlap * back.shared)
        return (
            value.scaled(gains.attention_variance)
            + query.scaled(through_scores * gap**2)
            + key.scaled(through_scores * gap)
        )

    def weights(self, gains: Gains, layer: BlockState, back: Gradient) -> tuple[Reals, Reals]:
        """Return squared gradient norms of the query (or key) and of the value weights."""
        rows, gap = self._rows(layer), layer.at_attention.relative
        query = query_scale(self.architecture, gains, layer) * self._sums(
            rows.query * back.own, (1 - gap) * rows.query_overlap * back.shared
        )
        common = 0.0 if self.architecture.centred else 1 - gap
        value = value_scale(self.architecture) * self._sums(
            (common + gap * rows.participation) * back.own,
            (common + gap * rows.overlap) * back.shared,
        )
        return query, value

    def _sums(self, own: Reals, shared: Reals) -> Reals:
        """Return a sum over positions plus one over pairs of them."""
        total: Reals = np.tensordot(self.widths, own, 1) + np.tensordot(self._pairs, shared, 2)
        return total

    def _to_keys(
        self, back: Gradient, own: Reals, pair: Reals, own_rest: Reals, pair_rest: Reals
    ) -> Gradient:
        """Return what keys get of rows' shares: of one row or two on the same key, and of the rest."""
        single, double, apart, crossed = self._shares
        sent = np.tensordot(single, own * back.own, (0, 0))
        sent = sent + np.tensordot(double, pair * back.shared, ((0, 1), (0, 1)))
        crossing = crossed.reshape(*crossed.shape, *(1,) * (own.ndim - 1))
        crossing = crossing * pair_rest * back.shared
        same = np.einsum("kk...->k...", crossing)
        between = np.tensordot(apart, own_rest * back.own, (0, 0))
        between = between - np.tensordot(self._seeing_both, same, (0, 0))
        seeing = self._seeing
        between = between + np.einsum("ki,kl...,lj->ij...", seeing, crossing, seeing, optimize=True)
        return Gradient(sent, between)

    @cached_property
    def _shares(self) -> tuple[Reals, Reals, Reals, Reals]:
        """Return what part of a row a key gets, of two rows, of a row two keys get, and of two rows.

        Each row's parts sum to one.
        """
        seeing, both, pairs, widths = self._seeing, self._seeing_both, self._pairs, self.widths
        two = np.einsum("kj,lj->klj", seeing, seeing)
        for k in range(len(widths)):
            two[k, k] -= seeing[k]
            two[k, k, k] = (widths[k] ** 2 - 1) / 3
        both_sums = np.einsum("kij,ij->k", both, pairs)
        crossed = np.einsum("ki,ij,lj->kl", seeing, pairs, seeing) - np.diag(both_sums)
        return (
            seeing * (widths / (seeing @ widths))[:, None],
            two * _over(pairs, two @ widths)[..., None],
            both * _over(widths, both_sums)[:, None, None],
            _over(pairs, crossed),
        )

    @cached_property
    def _rows(self) -> Callable[[BlockState], Rows]:
        """Return the statistics of every group's rows; those of one layer are asked for more than once."""
        return lru_cache(maxsize=1)(self._computed)

    def _computed(self, layer: BlockState) -> Rows:
        gap = layer.at_attention.relative
        variance, correlation = np.broadcast_arrays(layer.variance, 1 - gap)
        nodes = self._nodes
        parts = [self.statistics(node)(variance, correlation) for node in nodes]
        shares = {
            name: np.array([np.broadcast_to(getattr(part, name), variance.shape) for part in parts])
            for name in ("participation", "overlap", "gradient", "gradient_overlap")
        }
        alone = np.reshape(1 - 1 / np.array(nodes), (-1, *(1,) * variance.ndim))
        own = self._between(shares["participation"], single=1.0)
        overlap = self._both(self._between(shares["overlap"], single=1.0))
        gradient, pulled = (
            self._between(shares[name] / alone, single=0.0, alone=True)
            for name in ("gradient", "gradient_overlap")
        )
        pulled = self._both(pulled)
        towards = (1 - own)[:, None] * (1 - own)[None] / self.architecture.dim
        query = gradient + np.einsum("kk...->k...", towards)
        if self.architecture.centred:  # weights less their mean
            points = (1,) * variance.ndim
            most = np.maximum(self.counts[:, None], self.counts)
            own = own - (1 / self.counts).reshape(-1, *points)
            overlap = overlap - (1 / most).reshape(*most.shape, *points)
        return Rows(own, overlap, gradient, pulled, query, pulled + towards)

    @cached_property
    def _nodes(self) -> list[int]:
        # The same few whatever the number of tokens, so that tables serve many.
        nodes, tokens = [2], self.architecture.tokens
        while _NODES * nodes[-1] < tokens / 2:
            nodes.append(_NODES * nodes[-1])
        return sorted({*nodes, tokens})

    def _between(self, values: Reals, *, single: float, alone: bool = False) -> Reals:
        """Return values at every group's number of keys; one key alone has a value of its own."""
        several = self.counts >= 2
        logs = np.log(np.maximum(values, NOTHING))
        if len(self._nodes) > 1:
            spline = CubicSpline(np.log(self._nodes), logs)
            between = np.exp(spline(np.log(self.counts[several])))
        else:
            between = np.exp(np.broadcast_to(logs, (int(several.sum()), *logs.shape[1:])))
        if alone:
            shape = (-1, *(1,) * (values.ndim - 1))
            between = between * np.reshape(1 - 1 / self.counts[several], shape)
        ones = np.full((int((~several).sum()), *values.shape[1:]), single)
        return np.concatenate((ones, between))

    def _both(self, values: Reals) -> Reals:
        """Return a pair's statistics from those of two alike: of the one with fewer keys."""
        size = len(self.counts)
        fewer = np.minimum(np.arange(size)[:, None], np.arange(size))
        ratio = self.counts[fewer] / np.maximum(self.counts[:, None], self.counts)
        return values[fewer] * ratio.reshape(size, size, *(1,) * (values.ndim - 1))


def _over(part: Reals, whole: Reals) -> Reals:
    """Return a quotient, nothing where there is nothing to share."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
