"""``simonides plan``: what the linear layers of a model could hold."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.formatting import count
from simonides.text import cell

if TYPE_CHECKING:
    from simonides.planner.model import Layer
    from simonides.planner.plan import Bound, Plan, Total
    from simonides.planner.recommend import Recommendation


def plan(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A config.json, a .safetensors file or its index.json, a .gguf file, or a name such as "
            "llama-3-8b.",
        ),
    ],
    lora_rank: Annotated[int | None, typer.Option(help="Also at this rank (LoRA).")] = None,
    facts: Annotated[
        int | None, typer.Option(help="Recommend the smallest ranks for so many facts.")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(help="Outputs that compete (default: the vocabulary).")
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="Only layers whose name matches, as in '*mlp*'.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print one CSV row per layer.")] = False,
    as_json: options.Json = False,
) -> None:
    """How many arbitrary facts could each linear layer of a model hold?

    Reads shapes only, never weights. The number is an upper bound for one linear map with fixed
    generic embeddings, not a promise about a trained network.

    Example: simonides plan gpt2 --lora-rank 16 --facts 20000
    """
    from simonides.planner.model import selected
    from simonides.planner.plan import plan as plan_model
    from simonides.planner.recommend import recommend
    from simonides.planner.source import read_model

    if as_csv and as_json:
        raise arguments.refuse("csv", True, "left out beside --json", "choose one of the two")
    model = read_model(file)
    if layers is not None:
        model = selected(model, layers)
    answer = plan_model(model, candidates=candidates, lora_rank=lora_rank)
    advice = None if facts is None else recommend(answer, facts)
    if as_json:
        output.print_json(_record(answer, advice))
    elif as_csv:
        output.print_line(_csv(_layers(answer, advice)))
    else:
        _print_tables(answer, advice)


def _record(answer: Plan, advice: Recommendation | None) -> dict[str, Any]:
    lora = answer.total_lora
    return {
        "source": answer.model.source,
        "family": answer.model.family,
        "vocabulary": answer.model.vocabulary,
        "candidates": answer.candidates,
        "lora_rank": answer.lora_rank,
        "layers": _layers(answer, advice),
        "total": {**asdict(answer.total), "lora": None if lora is None else asdict(lora)},
        "facts": None if advice is None else advice.facts,
        "rank_for_all_layers": None if advice is None else advice.together,
        "rank_pattern": None if advice is None else advice.rank_pattern,
        "skipped": [asdict(part) for part in answer.model.skipped],
        "notes": [*answer.notes, *(() if advice is None else advice.notes)],
    }


def _layers(answer: Plan, advice: Recommendation | None) -> list[dict[str, Any]]:
    ranks = [None] * len(answer.rows) if advice is None else advice.alone
    return [
        {
            "name": row.layer.name,
            "count": row.layer.count,
            "dim_in": row.layer.dim_in,
            "dim_out": row.layer.dim_out,
            **_bound(row.full),
            "lora": None if row.lora is None else _bound(row.lora),
            "smallest_rank": rank,
        }
        for row, rank in zip(answer.rows, ranks, strict=True)
    ]


def _bound(bound: Bound) -> dict[str, Any]:
    return {
        "rank": bound.rank,
        "parameters": bound.setting.parameters,
        "facts": bound.facts,
        "facts_stderr": bound.facts_stderr,
        "bits_per_parameter": bound.bits_per_parameter,
        "statistical_dimension": bound.price,
        "candidates": bound.setting.candidates,
        "criterion": bound.criterion,
    }


def _csv(layers: list[dict[str, Any]]) -> str:
    """Return layers as CSV, the numbers of adapters in columns of their own."""
    flat = []
    for layer in layers:
        lora = layer.pop("lora") or {}
        adapter = {f"lora_{key}": value for key, value in lora.items()}
        flat.append({**layer, "name": cell(layer["name"]), **adapter})
    text = io.StringIO()
    writer = csv.DictWriter(text, flat[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue().rstrip("\n")


def _print_tables(answer: Plan, advice: Recommendation | None) -> None:
    names = answer.names
    output.print_table(
        f"{answer.model.source}: {answer.candidates:,} candidates competing",
        ["layer", "count", "out x in", "facts each", "bits/param."],
        [
            *(
                [name, f"{row.layer.count:,}", _shape(row.layer), *_cells(row.full)]
                for name, row in zip(names, answer.rows, strict=True)
            ),
            ["all matrices", f"{answer.total.matrices:,}", "", *_cells(answer.total)],
        ],
        answer.notes,
    )
    if answer.total_lora is not None:
        adapters = [row.lora for row in answer.rows if row.lora is not None]
        output.print_line("")
        output.print_table(
            f"As adapters of rank {answer.lora_rank:,}",
            ["layer", "parameters each", "facts each", "bits/param."],
            [
                *(
                    [name, f"{adapter.setting.parameters:,}", *_cells(adapter)]
                    for name, adapter in zip(names, adapters, strict=True)
                ),
                ["all matrices", f"{answer.total_lora.parameters:,}", *_cells(answer.total_lora)],
            ],
        )
    if advice is not None:
        output.print_line("")
        output.print_table(
            f"Smallest rank that could hold {advice.facts:,} facts",
            ["layer", "one matrix alone"],
            [
                *([name, _rank(rank)] for name, rank in zip(names, advice.alone, strict=True)),
                ["all matrices together", _rank(advice.together)],
            ],
            advice.notes,
        )
        output.print_line(f"rank_pattern = {json.dumps(advice.rank_pattern)}")


def _shape(layer: Layer) -> str:
    return f"{layer.dim_out:,} x {layer.dim_in:,}"


def _cells(bound: Bound | Total) -> list[str]:
    error = f" ± {count(bound.facts_stderr)}" if bound.facts_stderr else ""
    return [count(bound.facts) + error, f"{bound.bits_per_parameter:.2f}"]


def _rank(rank: int | None) -> str:
    return "beyond full rank" if rank is None else f"{rank:,}"
