"""``simonides verify``: is that proof right?"""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.cli import problem_options as instance
from simonides.cli.grouped import grouped

if TYPE_CHECKING:
    from simonides.certificate import ChangeVerification, Verification

_INVALID = 1
"""Exit code of a proof that is not valid; 2 is bad input."""


@grouped
def verify(
    certificate: Annotated[
        str,
        typer.Argument(help="Proof written by 'decide --save', or folder written by 'edit'."),
    ],
    request: instance.Request,
    tolerance: instance.Tolerance = 1e-9,
    strict: Annotated[
        bool,
        typer.Option("--strict/--no-strict", help="Exit with code 1 if the proof is not valid."),
    ] = True,
    as_json: options.Json = False,
) -> None:
    """Check a proof against its problem, independently of how it was found.

    An edited model is checked against the proof beside it, and needs no more than its folder.

    Example: simonides verify proof.npz --dim 100 --facts 1150 --seed 1
    """
    if Path(certificate).is_dir():
        if request != instance.Request():
            raise arguments.refuse(
                *("certificate", certificate, "a file where options name the problem"),
                "an edited folder holds its own: pass it alone",
            )
        valid = _edit(certificate, as_json=as_json)
    else:
        valid = _proof(certificate, request, tolerance, as_json=as_json)
    if strict and not valid:
        raise typer.Exit(_INVALID)


def _edit(folder: str, *, as_json: bool) -> bool:
    from simonides.editing.folder import verify_edit

    verification = verify_edit(folder)
    rows = [_valid(verification)]
    if verification.valid:
        rows += [
            ["facts proved", f"{verification.facts:,}"],
            ["length of the change on text, at most", f"{verification.change_upper:.4g}"],
            ["no change is shorter than", f"{verification.change_lower:.4g}"],
        ]
    output.answer(asdict(verification), folder, rows, as_json=as_json)
    return verification.valid


def _proof(certificate: str, request: instance.Request, tolerance: float, *, as_json: bool) -> bool:
    from simonides.certificate import Certificate
    from simonides.certificate import verify as check

    arguments.tolerance(tolerance)
    proof = Certificate.load(certificate)
    verification = check(proof, request.read(), tolerance=tolerance)
    bound = verification.margin_bound
    rows = [
        _valid(verification),
        ["claim", output.verdict_words(str(verification.claim), bound, tolerance)],
        ["bound on the normalised margin", f"{bound:.3g}" if isfinite(bound) else "none"],
    ]
    record = {**asdict(verification), "claim": str(verification.claim)}
    output.answer(record, certificate, rows, as_json=as_json)
    return verification.valid


def _valid(verification: Verification | ChangeVerification) -> list[str]:
    return ["valid", "yes" if verification.valid else f"no: {verification.reason}"]
