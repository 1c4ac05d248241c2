"""Options that name a problem: drawn from a seed, or read from files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options

if TYPE_CHECKING:
    from simonides.problems.decoupled import DecoupledProblem
    from simonides.problems.original import OriginalProblem

Facts = Annotated[int | None, typer.Option(help="Number of facts to draw.")]
Seed = Annotated[int | None, typer.Option(help="Seed of all that is drawn (default: 0).")]
Inputs = Annotated[str | None, typer.Option(help="Your inputs: FILE.npy, one row per fact.")]
Outputs = Annotated[str | None, typer.Option(help="Your outputs: FILE.npy, one row each.")]
Targets = Annotated[
    str | None, typer.Option(help="Row of the right output for each input: FILE.npy.")
]
EnsembleText = Annotated[
    str,
    typer.Option(
        "--ensemble",
        help="Law of what is drawn: {vectors}; with '+' a law of the targets: {targets}; "
        "or your own module:function.",
    ),
]
Tolerance = Annotated[float, typer.Option(help="Normalised margin that counts as none.")]


@dataclass(frozen=True)
class Request(options.Shape):
    """What names a problem: sizes and a seed to draw it from, or files to read."""

    facts: Facts = None
    candidates: options.Candidates = None
    problem: options.Kind = "original"
    ensemble: EnsembleText = "gaussian"
    seed: Seed = None
    inputs: Inputs = None
    outputs: Outputs = None
    targets: Targets = None

    @property
    def own(self) -> bool:
        """Whether it names files."""
        return self.inputs is not None or self.outputs is not None

    def read(self) -> OriginalProblem | DecoupledProblem:
        """Return the problem; an option that would go unheeded is refused."""
        return self._from_files() if self.own else self._drawn()

    def _drawn(self) -> OriginalProblem | DecoupledProblem:
        if self.targets is not None:
            raise arguments.refuse(
                "targets",
                self.targets,
                "left out for a drawn problem",
                "or pass --inputs and --outputs",
            )
        if self.facts is None:
            raise arguments.refuse(
                "facts", None, "given", "pass --dim and --facts, or --inputs and --outputs"
            )
        shape = self.sizes()
        facts = arguments.whole("facts", self.facts, remedy="pass the number of facts")
        from simonides.problems.ensembles import check_memory, ensemble

        law = ensemble(self.ensemble)
        law.check(self.problem, self.candidates)
        check_memory(facts, self.candidates, shape)
        return law.draw(
            facts, *shape, candidates=self.candidates, problem=self.problem, seed=self.seed or 0
        )

    def _from_files(self) -> OriginalProblem:
        for missing, other in (("inputs", "outputs"), ("outputs", "inputs")):
            if getattr(self, missing) is None:
                remedy = f"pass --{missing} FILE.npy, or drop --{other}"
                raise arguments.refuse(missing, None, f"given with {other}", remedy)
        paths = {name: getattr(self, name) for name in ("inputs", "outputs", "targets")}
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name not in paths and value != option.default:
                flag = f"--{option.name.replace('_', '-')}"
                raise arguments.refuse(option.name, value, "left out beside files", f"drop {flag}")
        from simonides.problems.original import OriginalProblem

        return OriginalProblem(
            **{name: _array(name, path) for name, path in paths.items() if path is not None}
        )


def _array(name: str, path: str) -> Any:
    from simonides.reading import expecting, read_array

    kind = "a readable .npy file of numbers"
    try:
        with expecting(name, path, kind, "write it with numpy.save"):
            return read_array(path)
    except OSError as error:
        raise arguments.refuse(name, path, kind, error.strerror or str(error)) from None
