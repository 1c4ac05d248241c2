"""Options that name a problem: drawn from a seed, or read from files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments

if TYPE_CHECKING:
    from simonides.problems.decoupled import DecoupledProblem
    from simonides.problems.original import OriginalProblem

Facts = Annotated[int | None, typer.Option(help="Number of facts to draw.")]
Kind = Annotated[
    str, typer.Option(help="'original': outputs shared; 'decoupled': each input has its own.")
]
Seed = Annotated[int, typer.Option(help="Seed of the drawn problem.")]
Inputs = Annotated[str | None, typer.Option(help="Your inputs: FILE.npy, one row per fact.")]
Outputs = Annotated[str | None, typer.Option(help="Your outputs: FILE.npy, one row each.")]
Targets = Annotated[
    str | None, typer.Option(help="Row of the right output for each input: FILE.npy.")
]


def read_problem(
    dim: int | None,
    facts: int | None,
    problem: str,
    seed: int,
    inputs: str | None,
    outputs: str | None,
    targets: str | None,
) -> OriginalProblem | DecoupledProblem:
    """Return the problem that the options name."""
    from simonides.problems.original import OriginalProblem

    check_kind(problem)
    if inputs is not None and outputs is not None:
        if dim is not None or facts is not None or problem != "original":
            raise arguments.refuse(
                "inputs", inputs, "given without --dim, --facts and --problem", "drop one of them"
            )
        read = None if targets is None else _array("targets", targets)
        return OriginalProblem(_array("inputs", inputs), _array("outputs", outputs), read)
    if dim is None or facts is None:
        raise arguments.refuse(
            "dim, facts", (dim, facts), "both given", "or pass --inputs and --outputs"
        )
    return kinds()[problem].gaussian(facts, dim, seed=seed)


def check_kind(problem: str) -> None:
    """Refuse a kind of problem that there is not."""
    if problem not in _KINDS:
        raise arguments.refuse("problem", problem, "'original' or 'decoupled'", "choose one")


def kinds() -> dict[str, type[OriginalProblem] | type[DecoupledProblem]]:
    """Return the kinds of problem by name."""
    from simonides.problems.decoupled import DecoupledProblem
    from simonides.problems.original import OriginalProblem

    return dict(zip(_KINDS, (OriginalProblem, DecoupledProblem), strict=True))


_KINDS = ("original", "decoupled")


def _array(name: str, path: str) -> Any:
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        reason = str(error).split(".")[0]
        raise arguments.refuse(name, path, "a .npy file of numbers", reason) from None
