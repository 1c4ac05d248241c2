"""The encoder's own layers through ``simonides plan``: as printed, and facts against the rank."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from examples.encoder import weights_file
from simonides.planner.plan import plan
from simonides.planner.source import read_model

RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384)
COMMAND = ("plan", "model.safetensors", "--lora-rank", "8", "--facts", "20000")


def printed() -> str:
    """Return what the command prints, run beside the encoder's file."""
    program = str(Path(sys.executable).parent / "simonides")
    done = subprocess.run(
        [program, *COMMAND], cwd=weights_file().parent, capture_output=True, text=True, check=True
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n") + "\n"


def by_rank() -> list[dict[str, Any]]:
    """Return what the matrices of each shape could hold as adapters of more and more rank."""
    model = read_model(str(weights_file()))
    rows = []
    for rank in RANKS:
        answer = plan(model, lora_rank=rank)
        shapes = {
            f"{row.layer.dim_out:,} x {row.layer.dim_in:,}": row.lora.facts
            for row in answer.rows
            if row.lora is not None
        }
        assert answer.total_lora is not None  # a rank was asked for
        rows.append({"rank": rank, "all": answer.total_lora.facts, **shapes})
    return rows
