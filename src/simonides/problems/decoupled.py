"""The decoupled problem: every input has its own outputs (eq. 2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems.scan import Pairs, Scan, pointers
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals

IN_MEMORY_BYTES = 2**29
"""Instances up to this size keep their outputs; larger ones draw them anew on every pass."""


@dataclass(frozen=True, eq=False)
class DecoupledProblem:
    """Gaussian inputs, and for each of them its own ``candidates`` Gaussian outputs, target first.

    All vectors follow from ``seed`` and the row they belong to, by a counter-based generator: the same
    on any machine, whether they are kept or drawn anew. What is never held is all outputs of a large
    instance, facts x candidates x dim_out numbers. ``all_compete`` says that there are as many
    candidates as facts, also in a prefix.
    """

    facts: int
    dim_in: int
    dim_out: int
    candidates: int
    seed: int
    all_compete: bool = False
    in_memory_bytes: int = IN_MEMORY_BYTES

    def __post_init__(self) -> None:
        remedies = {
            "facts": (1, "pass the number of facts"),
            "dim_in": (1, "pass the input dimension"),
            "dim_out": (1, "pass the output dimension"),
            "candidates": (2, "a fact competes with at least one rival output"),
            "seed": (0, "pass the integer to reproduce it by"),
            "in_memory_bytes": (0, "pass 0 to draw outputs anew on every pass"),
        }
        for name, (least, remedy) in remedies.items():
            value = arguments.whole(name, getattr(self, name), least=least, remedy=remedy)
            object.__setattr__(self, name, value)

    @classmethod
    def gaussian(
        cls,
        facts: int,
        dim_in: int,
        dim_out: int | None = None,
        *,
        candidates: int | None = None,
        seed: int,
    ) -> DecoupledProblem:
        """Return an instance; as many candidates as facts, and at least two, unless said otherwise."""
        return cls(
            facts,
            dim_in,
            dim_in if dim_out is None else dim_out,
            max(facts, 2) if candidates is None else candidates,
            seed,
            all_compete=candidates is None,
        )

    @cached_property
    def inputs(self) -> Reals:
        """Inputs, shape (facts, dim_in)."""
        rows = [self._generator(row, 0).standard_normal(self.dim_in) for row in range(self.facts)]
        inputs = np.array(rows)
        inputs.flags.writeable = False
        return inputs

    @cached_property
    def target_outputs(self) -> Reals:
        """The right output of each input, shape (facts, dim_out)."""
        outputs = np.array(
            [self._generator(row, 1).standard_normal(self.dim_out) for row in range(self.facts)]
        )
        outputs.flags.writeable = False
        return outputs

    @property
    def setting(self) -> Setting:
        """What theory is to be asked about this problem."""
        candidates = None if self.all_compete else self.candidates
        return Setting(self.dim_in, self.dim_out, candidates, outputs="decoupled")

    def prefix(self, facts: int) -> DecoupledProblem:
        """Return the problem of the first facts, each with its outputs.

        Where all facts compete, each keeps as many of its first outputs as there are facts.
        """
        facts = arguments.whole("facts", facts, remedy="pass how many facts to keep")
        if facts > self.facts:
            raise arguments.refuse("facts", facts, f"at most {self.facts}", "there are no more")
        candidates = max(facts, 2) if self.all_compete else self.candidates
        return replace(self, facts=facts, candidates=candidates)

    def fingerprint(self) -> str:
        """Return a digest of everything that defines the problem."""
        numbers = (self.facts, self.dim_in, self.dim_out, self.candidates, self.seed)
        return hashlib.sha256(f"decoupled philox {numbers}".encode()).hexdigest()

    def rivals(self, row: int) -> Reals:
        """Return the rivals of an input, shape (candidates - 1, dim_out)."""
        if self._kept is not None:
            return np.asarray(self._kept[row])
        return self._draw(row)

    def competitors(self, fact: int) -> tuple[Integers, Reals]:
        """Return the numbers and the vectors of a fact's rivals; number 0 is the target."""
        return np.arange(1, self.candidates), self.rivals(fact)

    def impossible_pair(self) -> tuple[int, int] | None:
        """Return None: Gaussian vectors are neither zero nor equal."""
        return None

    def scan(self, images: Reals, threshold: float) -> Scan:
        """Pass over all rivals; collect those within ``threshold`` of their target's score.

        ``images`` holds W x for every input, shape (facts, dim_out).
        """
        counts, rivals, vectors, recalled, smallest = [], [], [], 0, np.inf
        target = np.einsum("ij,ij->i", images, self.target_outputs)
        for row in range(self.facts):
            outputs = self.rivals(row)
            scores = outputs @ images[row]
            gap = float(target[row] - scores.max())
            recalled += gap > 0
            smallest = min(smallest, gap)
            close = np.flatnonzero(scores > target[row] - threshold)
            counts.append(len(close))
            rivals.append(close + 1)  # candidate 0 is the target
            vectors.append(outputs[close])
        found = np.concatenate(rivals).astype(np.int64)
        table = np.concatenate(vectors)
        pairs = Pairs(pointers([np.array(counts)]), found, np.arange(len(found)), table)
        return Scan(pairs, recalled, smallest)

    @cached_property
    def _kept(self) -> Reals | None:
        if 8 * self.facts * (self.candidates - 1) * self.dim_out > self.in_memory_bytes:
            return None
        kept = np.empty((self.facts, self.candidates - 1, self.dim_out))
        for row in range(self.facts):
            kept[row] = self._draw(row)
        kept.flags.writeable = False
        return kept

    def _draw(self, row: int) -> Reals:
        # Rivals are drawn in order, so that fewer candidates are a prefix of more.
        return self._generator(row, 2).standard_normal((self.candidates - 1, self.dim_out))

    def _generator(self, row: int, stream: int) -> np.random.Generator:
        key = np.array([self.seed % 2**64, row * 4 + stream], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key))
