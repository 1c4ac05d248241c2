"""``simonides verify``: is that proof right?"""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import Annotated

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.cli import problem_options as instance
from simonides.cli.grouped import grouped

_INVALID = 1
"""Exit code of a proof that is not valid; 2 is bad input."""


@grouped
def verify(
    certificate: Annotated[str, typer.Argument(help="Proof written by 'decide --save'.")],
    request: instance.Request,
    tolerance: instance.Tolerance = 1e-9,
    strict: Annotated[
        bool,
        typer.Option("--strict/--no-strict", help="Exit with code 1 if the proof is not valid."),
    ] = True,
    as_json: options.Json = False,
) -> None:
    """Check a proof against its problem, independently of how it was found.

    Example: simonides verify proof.npz --dim 100 --facts 1150 --seed 1
    """
    from simonides.certificate import Certificate
    from simonides.certificate import verify as check

    arguments.tolerance(tolerance)
    proof = Certificate.load(certificate)
    verification = check(proof, request.read(), tolerance=tolerance)
    bound = verification.margin_bound
    rows = [
        ["valid", "yes" if verification.valid else f"no: {verification.reason}"],
        ["claim", output.verdict_words(str(verification.claim), bound, tolerance)],
        ["bound on the normalised margin", f"{bound:.3g}" if isfinite(bound) else "none"],
    ]
    record = {**asdict(verification), "claim": str(verification.claim)}
    output.answer(record, certificate, rows, as_json=as_json)
    if strict and not verification.valid:
        raise typer.Exit(_INVALID)
