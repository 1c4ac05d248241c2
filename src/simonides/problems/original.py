"""The original problem: outputs are shared by all inputs (eq. 1)."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.problems import checked
from simonides.problems.scan import Pairs, Recall, Scanned, Screen, Tally, pointers, row_blocks
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Integers, Reals, Singles
    from simonides.problems.scan import Precision, Scan
    from simonides.threads import Each


_LEAST_ROWS = 512
"""With fewer rows at a time a matrix product spends its time on rearranging the outputs."""

_STRUCK_OUT = {np.float32: -1e18, np.float64: -np.inf}
"""Below every score."""


@dataclass(frozen=True, eq=False)
class OriginalProblem(Scanned):
    """Inputs, outputs and which output belongs to each input.

    ``inputs`` has shape (facts, dim_in), ``outputs`` (candidates, dim_out). ``targets`` holds the row of
    the right output for each input; left out, input i belongs to output i. Several inputs may share
    an output, and there may be more outputs than inputs. ``paired`` says that each input came with its
    own output.

    >>> OriginalProblem.gaussian(5, 3, seed=0).facts
    5
    """

    inputs: Reals
    outputs: Reals
    targets: Integers | None = None
    paired: bool = field(init=False)

    def __post_init__(self) -> None:
        inputs = checked.matrix("inputs", self.inputs)
        outputs = checked.matrix("outputs", self.outputs)
        if len(outputs) < 2:
            raise arguments.refuse(
                "outputs.shape", outputs.shape, "with at least two rows", "a fact needs a rival"
            )
        if self.targets is None and len(outputs) < len(inputs):
            raise arguments.refuse(
                "targets",
                None,
                "given when there are fewer outputs than inputs",
                "pass the row of the right output for each input",
            )
        targets = np.arange(len(inputs)) if self.targets is None else self.targets
        kept = checked.indices("targets", targets, size=len(inputs), below=len(outputs))
        # Outputs belong to the facts one by one only if no targets were named.
        object.__setattr__(self, "paired", self.targets is None and len(outputs) == len(inputs))
        for name, value in (("inputs", inputs), ("outputs", outputs), ("targets", kept)):
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
    ) -> OriginalProblem:
        """Draw i.i.d. standard Gaussian embeddings.

        There are as many candidates as facts, and at least two, unless said otherwise. The first inputs
        have an output each; where there are more inputs than outputs, the rest share them at random. More
        facts of the same seed, with the same candidates, are the same facts and further ones.
        """
        facts = arguments.whole("facts", facts, remedy="pass the number of facts")
        dim_in = arguments.whole("dim_in", dim_in, remedy="pass the input dimension")
        dim_out = arguments.whole(
            "dim_out", dim_in if dim_out is None else dim_out, remedy="pass the output dimension"
        )
        number = arguments.whole(
            "candidates",
            max(facts, 2) if candidates is None else candidates,
            least=2,
            remedy="a fact competes with at least one rival output",
        )
        seed = arguments.whole("seed", seed, least=0, remedy="pass the integer to reproduce it by")
        of_inputs, of_outputs, of_targets = np.random.default_rng(seed).spawn(3)
        shared = of_targets.integers(number, size=max(facts - number, 0))
        targets = np.append(np.arange(min(facts, number)), shared)
        return cls(
            of_inputs.standard_normal((facts, dim_in)),
            of_outputs.standard_normal((number, dim_out)),
            None if candidates is None else targets,
        )

    @property
    def facts(self) -> int:
        """Number of facts."""
        return len(self.inputs)

    @property
    def candidates(self) -> int:
        """Number of outputs that compete for each input."""
        return len(self.outputs)

    @property
    def dim_in(self) -> int:
        """Input dimension."""
        return int(self.inputs.shape[1])

    @property
    def dim_out(self) -> int:
        """Output dimension."""
        return int(self.outputs.shape[1])

    @cached_property
    def target_outputs(self) -> Reals:
        """The right output of each input, shape (facts, dim_out)."""
        chosen = self.outputs[self._targets]
        chosen.flags.writeable = False
        return chosen

    @property
    def setting(self) -> Setting:
        """What theory is to be asked about this problem."""
        candidates = None if self.paired else self.candidates
        return Setting(self.dim_in, self.dim_out, candidates)

    @property
    def _targets(self) -> Integers:
        assert self.targets is not None  # set on construction
        return self.targets

    def prefix(self, facts: int) -> OriginalProblem:
        """Return the problem of the first facts (with only their outputs, if input i owns output i)."""
        facts = arguments.whole("facts", facts, remedy="pass how many facts to keep")
        if facts > self.facts:
            raise arguments.refuse("facts", facts, f"at most {self.facts}", "there are no more")
        if self.paired:
            return OriginalProblem(self.inputs[:facts], self.outputs[: max(facts, 2)])
        return OriginalProblem(self.inputs[:facts], self.outputs, self._targets[:facts])

    def fingerprint(self) -> str:
        """Return a digest of everything that defines the problem."""
        digest = hashlib.sha256(b"original")
        for array in (self.inputs, self.outputs, self._targets):
            digest.update(repr(array.shape).encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def contests(self, facts: int) -> Iterator[tuple[slice, Reals]]:
        """Yield the first facts in blocks, each with all outputs."""
        for rows in self._row_blocks:
            if rows.start < facts:
                yield slice(rows.start, min(rows.stop, facts)), self.outputs

    def competitors(self, fact: int) -> tuple[Integers, Reals]:
        """Return the numbers and the vectors of a fact's rivals."""
        numbers = np.delete(np.arange(self.candidates), self._targets[fact])
        return numbers, self.outputs[numbers]

    def impossible_pair(self) -> tuple[int, int] | None:
        """Return a fact and a rival that no weights can tell apart, if there are any.

        A zero input gives every output the same score, and equal outputs score the same.
        """
        return self._impossible_pair

    @cached_property
    def _impossible_pair(self) -> tuple[int, int] | None:
        silent = np.flatnonzero(~self.inputs.any(axis=1))
        if silent.size:
            fact = int(silent[0])
            return fact, int(self.competitors(fact)[0][0])
        # Adding zero makes negative zero positive, so that equal rows have equal bytes.
        digests = [hashlib.blake2b(row + 0.0, digest_size=16).digest() for row in self.outputs]
        repeated = {digest for digest, times in Counter(digests).items() if times > 1}
        if not repeated:
            return None
        for fact, own in enumerate(self._targets):
            if digests[own] in repeated:
                twins = [k for k, digest in enumerate(digests) if digest == digests[own]]
                return fact, next(twin for twin in twins if twin != own)
        return None

    def scan_within(
        self, most: float, images: Reals, threshold: float, each: Each = map
    ) -> Scan | None:
        """Scan, or return None as soon as more than ``most`` pairs turn out to be close."""
        screen = Screen.of(images, threshold, self._length_range)
        squares = np.asarray(self._squares, dtype=screen.precision)

        def look(rows: slice) -> tuple[Any, ...] | None:
            if tally.exceeded:
                return None
            own, rivals = self._scores(images[rows], self._targets[rows], screen.precision)
            own_squares = self._squares[self._targets[rows]]
            counts, found = screen.close(rivals, own, own_squares, squares, rows)
            tally.add(counts)
            return counts, found

        tally = Tally(most)
        blocks = list(each(look, self._row_blocks))
        if not tally.settle(blocks):
            return None
        counts, found = zip(*blocks, strict=True)
        rivals = np.concatenate(found)
        pairs = Pairs(pointers(counts), rivals, rivals, self.outputs)
        return screen.finish(images, self.target_outputs, pairs, each)

    def recall(self, images: Reals, each: Each = map, facts: Integers | None = None) -> Recall:
        """Count the facts, of all or of some, whose target beats every rival.

        ``images`` holds W x for the input of each of them.
        """
        targets = self._targets if facts is None else self._targets[facts]

        def leads(rows: slice) -> Reals:
            own, rivals = self._scores(images[rows], targets[rows], np.float64)
            return np.asarray(own - rivals.max(axis=1))

        return Recall.of(np.concatenate(list(each(leads, self._blocks(len(targets))))))

    @property
    def shortest(self) -> float:
        """Length of the shortest output."""
        return float(np.sqrt(self._squares.min()))

    @property
    def _row_blocks(self) -> list[slice]:
        return self._blocks(self.facts)

    def _blocks(self, facts: int) -> list[slice]:
        return row_blocks(facts, 8 * self.candidates, least=_LEAST_ROWS)

    def _scores(self, images: Reals, targets: Integers, precision: Precision) -> tuple[Reals, Any]:
        """Return the scores of the targets, and those of all outputs with the targets' struck out."""
        outputs: Any = self.outputs if precision is np.float64 else self._single_outputs
        scores = np.asarray(images, dtype=precision) @ outputs.T
        place = np.arange(len(scores)), targets
        own = scores[place].astype(np.float64)
        scores[place] = _STRUCK_OUT[precision]
        return own, scores

    @cached_property
    def _squares(self) -> Reals:
        """Square of each output's length."""
        return np.asarray(np.einsum("ij,ij->i", self.outputs, self.outputs))

    @cached_property
    def _length_range(self) -> tuple[float, float]:
        squares = self._squares[self._squares > 0]
        return tuple(np.sqrt([squares.min(initial=np.inf), squares.max(initial=0.0)]).tolist())

    @cached_property
    def _single_outputs(self) -> Singles:
        return self.outputs.astype(np.float32)
