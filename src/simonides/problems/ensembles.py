"""Ensembles: named ways to draw a problem, one seam for commands, sweeps and thresholds.

An ensemble is a law of vectors and a law of targets, written with a plus: ``unit``, ``student(degrees=4)``,
``sparse+zipf(exponent=1.5)``, ``balanced``. What is left out is ``gaussian``, and ``identity``. A name
with a colon is a function of your own, ``mymodule:draw``.

Examples
--------
>>> from simonides import ensembles
>>> list(ensembles.TARGETS)
['identity', 'random', 'balanced', 'zipf']
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from simonides import arguments
from simonides.arrays import Integers
from simonides.problems import checked
from simonides.problems.calls import Option, called, written
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.problems.vectors import VECTORS, Interval, NamedLaw, VectorLaw
from simonides.theory.setting import ProblemKind

PROBLEMS: tuple[str, ...] = get_args(ProblemKind)
"""The kinds of problem: outputs shared by all inputs, or each input's own."""


def _identity(rng: np.random.Generator, facts: int, candidates: int) -> Integers:
    shared = rng.integers(candidates, size=max(facts - candidates, 0))
    return np.append(np.arange(min(facts, candidates)), shared)


def _random(rng: np.random.Generator, facts: int, candidates: int) -> Integers:
    return rng.integers(candidates, size=facts)


def _balanced(rng: np.random.Generator, facts: int, candidates: int) -> Integers:
    rounds = [rng.permutation(candidates) for _ in range(-(-facts // candidates))]
    return np.concatenate(rounds)[:facts]


def _zipf(rng: np.random.Generator, facts: int, candidates: int, exponent: float) -> Integers:
    shares = np.cumsum(np.arange(1, candidates + 1) ** -exponent)
    places = np.searchsorted(shares, rng.random(facts) * shares[-1], side="right")
    return np.asarray(
        np.minimum(places, candidates - 1)
    )  # a product may be rounded up to the whole


TARGETS: Mapping[str, NamedLaw] = {
    "identity": NamedLaw(
        _identity, "each fact its own output; once all are taken, any of them at random"
    ),
    "random": NamedLaw(_random, "any output, all equally likely"),
    "balanced": NamedLaw(
        _balanced, "every output as often as any other: one random order of them after the other"
    ),
    "zipf": NamedLaw(
        _zipf,
        "the k-th output with a chance proportional to k to the power -exponent",
        # At 20 all but one in a million targets are the first output.
        {"exponent": Interval(1.0, 0, 20, "pass the power by which chances fall")},
    ),
}
"""The laws of targets. All but ``identity`` need a number of candidates to choose from."""


@dataclass(frozen=True)
class Ensemble:
    r"""A way to draw problems: a law of vectors, and one of targets.

    Made by :func:`ensemble` from its text, which is also what it prints as.

    Parameters
    ----------
    name : str
        Of :data:`~simonides.problems.vectors.VECTORS`, or ``module:function``.
    options : tuple of pairs
        All options of the vectors, in their order.
    targets : str
        Of :data:`TARGETS`.
    target_options : tuple of pairs
        All options of the targets.
    """

    name: str = "gaussian"
    options: tuple[tuple[str, Option], ...] = ()
    targets: str = "identity"
    target_options: tuple[tuple[str, float], ...] = ()

    @property
    def own(self) -> bool:
        """Whether it is a function of the user's."""
        return ":" in self.name

    def draw(
        self,
        facts: int,
        dim_in: int,
        dim_out: int | None = None,
        *,
        candidates: int | None = None,
        problem: str = "original",
        seed: int,
    ) -> OriginalProblem | DecoupledProblem:
        """Draw a problem.

        More facts of the same seed, with the same candidates, are the same facts and further ones. With
        candidates left out, each fact brings an output of its own, and all compete.

        Parameters
        ----------
        facts : int
            Number of facts.
        dim_in, dim_out : int
            Dimensions of inputs and outputs; ``dim_out`` is ``dim_in`` if left out.
        candidates : int, optional
            Outputs that compete for each input. Default: as many as facts, and at least two.
        problem : {"original", "decoupled"}
            Whether all inputs share the outputs, or each has its own.
        seed : int
            Reproduces it.

        Returns
        -------
        OriginalProblem or DecoupledProblem

        Raises
        ------
        BadArgumentError
            For sizes that are none; for targets by chance without candidates or in the decoupled problem;
            for what a function of your own returns and no problem can be made of.

        Examples
        --------
        >>> ensemble("unit").draw(5, 3, seed=0).outputs.shape
        (5, 3)
        >>> ensemble("balanced").draw(6, 4, candidates=3, seed=0).targets.tolist()
        [0, 1, 2, 2, 0, 1]
        """
        dim_out = dim_in if dim_out is None else dim_out
        self.check(problem, candidates)
        if problem == "decoupled":
            law = VectorLaw(self.name, self.options)  # type: ignore[arg-type]
            shape = facts, dim_in, dim_out
            plain = DecoupledProblem.gaussian(*shape, candidates=candidates, seed=seed)
            return replace(plain, vectors=law)
        sizes = checked.sizes(facts, dim_in, dim_out, candidates)
        seed = arguments.seed(seed)
        if self.own:
            inputs, outputs, targets = self._nested(sizes, candidates, seed)
            if targets is not None and candidates is None:
                raise arguments.refuse(
                    "candidates",
                    None,
                    f"given for {self.name}, which chooses targets",
                    "pass how many outputs there are",
                )
        else:
            law = VectorLaw(self.name, self.options)  # type: ignore[arg-type]
            of_inputs, of_outputs = np.random.default_rng(seed).spawn(2)
            inputs = law.draw(of_inputs, (sizes["facts"], sizes["dim_in"]))
            outputs = law.draw(of_outputs, (sizes["candidates"], sizes["dim_out"]))
            targets = None
        if targets is None and candidates is not None:
            of_targets = np.random.default_rng(seed).spawn(3)[-1]
            targets = TARGETS[self.targets].function(
                of_targets, sizes["facts"], sizes["candidates"], **dict(self.target_options)
            )
        return OriginalProblem(inputs, outputs, targets)

    def check(self, problem: str, candidates: int | None) -> None:
        """Refuse a kind of problem, or candidates, that this ensemble does not go with."""
        arguments.one_of("problem", problem, PROBLEMS)
        if problem == "decoupled" and (self.own or self.targets != "identity"):
            raise arguments.refuse(
                "ensemble",
                str(self),
                "a law of vectors alone in the decoupled problem",
                f"choose from {', '.join(VECTORS)}: each input has outputs of its own there",
            )
        if candidates is None and self.targets != "identity":
            raise arguments.refuse(
                "candidates",
                None,
                f"given for {self.targets} targets",
                "pass how many outputs there are",
            )

    def _nested(self, sizes: Mapping[str, int], candidates: int | None, seed: int) -> list[Any]:
        """Return what the user's function draws, if the first of it do not depend on how much is drawn."""
        half = {**sizes, "facts": -(-sizes["facts"] // 2)}
        if candidates is None:
            half["candidates"] = max(half["facts"], 2)
        arrays, first = self._call(sizes, seed), self._call(half, seed)
        for name, more, fewer in zip(("inputs", "outputs", "targets"), arrays, first, strict=True):
            if (fewer is None) != (more is None) or (
                fewer is not None and more[: len(fewer)].tobytes() != fewer.tobytes()
            ):
                raise arguments.refuse(
                    "ensemble",
                    str(self),
                    f"a function whose first {name} are the same however many are drawn",
                    "draw row by row, inputs and outputs from generators of their own: rng.spawn(2)",
                )
        return arrays

    def _call(self, sizes: Mapping[str, int], seed: int) -> list[Any]:
        # The fourth child: the other three draw what a named ensemble draws.
        rng = np.random.default_rng(seed).spawn(4)[-1]
        function = arguments.imported("ensemble", self.name)
        kind = "of rng, facts, dim_in, dim_out, candidates and options"
        drawn = arguments.own_answer(
            "ensemble", str(self), kind, function, rng, **sizes, **dict(self.options)
        )
        if not isinstance(drawn, tuple) or len(drawn) not in (2, 3):
            raise arguments.refuse(
                "ensemble",
                self.name,
                f"a function that returns inputs and outputs, not {type(drawn).__name__}",
                "return a tuple of two arrays, or of three with the targets",
            )
        inputs, outputs = np.asarray(drawn[0]), np.asarray(drawn[1])
        targets = None if len(drawn) == 2 or drawn[2] is None else np.asarray(drawn[2])
        for name, array, shape in (
            ("inputs", inputs, (sizes["facts"], sizes["dim_in"])),
            ("outputs", outputs, (sizes["candidates"], sizes["dim_out"])),
        ):
            if array.shape != shape:
                raise arguments.refuse(
                    f"{self.name} {name}.shape", array.shape, f"{shape}", "as it was asked for"
                )
        if targets is not None and self.targets != "identity":
            raise arguments.refuse(
                "ensemble", str(self), "without a law of targets", f"{self.name} returns its own"
            )
        return [inputs, outputs, targets]

    def __str__(self) -> str:
        vectors = written(self.name, self.options)
        if self.targets == "identity":
            return vectors
        return f"{vectors}+{written(self.targets, self.target_options)}"


GAUSSIAN = Ensemble()
"""The paper's: independent standard Gaussian entries, each fact its own output."""


def ensemble(text: str | Ensemble) -> Ensemble:
    """Return the ensemble that a text names.

    Parameters
    ----------
    text : str
        A law of vectors, a law of targets, or both with a plus between them, each with options in
        parentheses. A name with a colon is a function of your own: ``draw(rng, facts, dim_in, dim_out,
        candidates)`` and any options, which returns inputs of shape (facts, dim_in), outputs of shape
        (candidates, dim_out), and targets if it chooses them, as a tuple.

    Returns
    -------
    Ensemble
        Its ``draw`` makes problems.

    Raises
    ------
    BadArgumentError
        For a name or an option that there is not.

    Examples
    --------
    >>> print(ensemble("student+zipf(exponent=2)"))
    student(degrees=3)+zipf(exponent=2)
    >>> ensemble("identity") == GAUSSIAN
    True
    """
    if isinstance(text, Ensemble):
        return text
    arguments.instance("ensemble", text, str, "pass the name of a law, such as 'gaussian'")
    laws: dict[str, tuple[str, Mapping[str, Option]]] = {}
    for part in re.split(r"\+(?![^()]*\))", text):
        law = called("ensemble", part)
        kind = _kind(law[0]) if law else None
        if law is None or kind is None or kind in laws:
            raise arguments.refuse(
                "ensemble",
                text,
                "a law of vectors, a law of targets, or both with a plus between them",
                f"vectors: {', '.join(VECTORS)}, or module:function; targets: {', '.join(TARGETS)}; "
                "options as in student(degrees=4)",
            )
        laws[kind] = law
    name, options = laws.get("vectors", ("gaussian", {}))
    targets, target_options = laws.get("targets", ("identity", {}))
    own = ":" in name
    if own:
        arguments.imported("ensemble", name)
    return Ensemble(
        name,
        tuple(sorted(options.items())) if own else VECTORS[name].complete(name, options),
        targets,
        TARGETS[targets].complete(targets, target_options),
    )


def check_memory(facts: int, candidates: int | None, dims: tuple[int, int]) -> None:
    """Refuse vectors that memory cannot hold: drawing them would find out late, after filling it."""
    try:
        np.empty((max(facts, candidates or 0), sum(dims)))
    except (MemoryError, ValueError):
        raise arguments.refuse(
            "facts, candidates",
            (facts, candidates),
            "few enough for memory",
            "ask for fewer or shorter vectors",
        ) from None


def _kind(name: str) -> str | None:
    if ":" in name or name in VECTORS:
        return "vectors"
    return "targets" if name in TARGETS else None
