"""Options that name a problem: drawn from a seed, or read from files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options

if TYPE_CHECKING:
    from simonides.problems.decoupled import DecoupledProblem
    from simonides.problems.original import OriginalProblem

Facts = Annotated[int | None, typer.Option(help="Number of facts to draw.")]
Kind = Annotated[
    str, typer.Option(help="'original': outputs shared; 'decoupled': each input has its own.")
]
Seed = Annotated[int | None, typer.Option(help="Seed of the drawn problem (default: 0).")]
Inputs = Annotated[str | None, typer.Option(help="Your inputs: FILE.npy, one row per fact.")]
Outputs = Annotated[str | None, typer.Option(help="Your outputs: FILE.npy, one row each.")]
Targets = Annotated[
    str | None, typer.Option(help="Row of the right output for each input: FILE.npy.")
]
Tolerance = Annotated[float, typer.Option(help="Normalised margin that counts as none.")]


def read_problem(
    shape: tuple[int | None, int | None, int | None],
    facts: int | None,
    candidates: int | None,
    problem: str,
    seed: int | None,
    files: tuple[str | None, str | None, str | None],
) -> OriginalProblem | DecoupledProblem:
    """Return the problem that the options name; an option that would go unheeded is refused.

    ``shape`` is dim, dim_in and dim_out; ``files`` are those of inputs, outputs and targets.
    """
    check_kind(problem)
    inputs, outputs, targets = files
    if inputs is None and outputs is None:
        if targets is not None:
            raise arguments.refuse(
                "targets", targets, "left out for a drawn problem", "or pass --inputs and --outputs"
            )
        if facts is None:
            raise arguments.refuse(
                "facts", facts, "given", "pass --dim and --facts, or --inputs and --outputs"
            )
        return _draw(problem, facts, options.sizes(*shape), candidates, seed or 0)
    if inputs is None or outputs is None:
        missing, other = ("inputs", "outputs") if inputs is None else ("outputs", "inputs")
        raise arguments.refuse(
            missing, None, f"given with {other}", f"pass --{missing} FILE.npy, or drop --{other}"
        )
    drawn = {
        **dict(zip(("dim", "dim_in", "dim_out"), shape, strict=True)),
        "facts": facts,
        "candidates": candidates,
        "problem": None if problem == "original" else problem,
        "seed": seed,
    }
    for name, value in drawn.items():
        if value is not None:
            raise arguments.refuse(
                name, value, "left out beside files", f"drop --{name.replace('_', '-')}"
            )
    arrays = [_array("inputs", inputs), _array("outputs", outputs)]
    if targets is not None:
        arrays.append(_array("targets", targets))
    from simonides.problems.original import OriginalProblem

    return OriginalProblem(*arrays)


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


def check_memory(facts: int, candidates: int | None, shape: tuple[int, int]) -> None:
    """Refuse vectors that memory cannot hold: drawing them would find out late, after filling it."""
    import numpy as np

    asked = (facts, candidates)
    try:
        np.empty((max(facts, candidates or 0), sum(shape)))
    except (MemoryError, ValueError):
        raise arguments.refuse(
            "facts, candidates", asked, "few enough for memory", "ask for fewer or shorter vectors"
        ) from None


def _draw(
    problem: str, facts: int, shape: tuple[int, int], candidates: int | None, seed: int
) -> OriginalProblem | DecoupledProblem:
    facts = arguments.whole("facts", facts, remedy="pass the number of facts")
    check_memory(facts, candidates, shape)
    return kinds()[problem].gaussian(facts, *shape, candidates=candidates, seed=seed)


def _array(name: str, path: str) -> Any:
    from tokenize import TokenError

    import numpy as np

    try:
        # Unlike numpy.load, this takes nothing but a lone array.
        with open(path, "rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        reason = error.strerror or str(error)
    except (ValueError, EOFError, MemoryError, SyntaxError, TokenError) as error:
        reason = str(error).split(".")[0]
    raise arguments.refuse(name, path, "a readable .npy file of numbers", reason)
