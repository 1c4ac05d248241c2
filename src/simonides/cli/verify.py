"""``simonides verify``: is that proof right?"""

from __future__ import annotations

from typing import Annotated

import typer

from simonides import arguments
from simonides.cli import instance, options, output


def verify(
    certificate: Annotated[str, typer.Argument(help="Proof written by 'decide --save'.")],
    dim: options.Dim = None,
    dim_in: options.DimIn = None,
    dim_out: options.DimOut = None,
    facts: instance.Facts = None,
    candidates: options.Candidates = None,
    problem: instance.Kind = "original",
    seed: instance.Seed = None,
    inputs: instance.Inputs = None,
    outputs: instance.Outputs = None,
    targets: instance.Targets = None,
    tolerance: instance.Tolerance = 1e-9,
    as_json: options.Json = False,
) -> None:
    """Check a proof against its problem, independently of how it was found.

    Example: simonides verify proof.npz --dim 100 --facts 1150 --seed 1
    """
    from simonides.certificate import Certificate
    from simonides.certificate import verify as check

    arguments.tolerance(tolerance)
    proof = Certificate.load(certificate)
    asked = instance.read_problem(
        (dim, dim_in, dim_out), facts, candidates, problem, seed, (inputs, outputs, targets)
    )
    found = check(proof, asked, tolerance=tolerance)
    if as_json:
        output.print_json(
            {
                "valid": found.valid,
                "claim": str(found.claim),
                "margin_bound": found.margin_bound,
                "reason": found.reason,
            }
        )
        return
    rows = [
        ["valid", "yes" if found.valid else f"no: {found.reason}"],
        ["claim", str(found.claim)],
        ["bound on the normalised margin", f"{found.margin_bound:.3g}"],
    ]
    output.print_table(certificate, ["", ""], rows)
