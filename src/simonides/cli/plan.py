"""``simonides plan``: what the linear layers of a model could hold."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.formatting import count, short
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
            help="A config.json, a .safetensors file or its index.json, a .gguf file, an "
            "adapter_config.json, a folder with one of these, or a name such as llama-3-8b.",
        ),
    ],
    lora_rank: Annotated[int | None, typer.Option(help="Also at this rank (LoRA).")] = None,
    facts: Annotated[
        str | None, typer.Option(help="Recommend a rank for so many facts, as 20000, 50k or 1.5M.")
    ] = None,
    tokens_per_fact: Annotated[
        float | None, typer.Option(help="Tokens that a fact has to recall (default: 1).")
    ] = None,
    bits_per_fact: Annotated[
        float | None,
        typer.Option(help="Instead: bits that a fact says, in as few tokens as can be."),
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(help="Outputs that compete (default: the vocabulary).")
    ] = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these layers: a name in the table or a pattern, as '*mlp*'; repeatable."
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print one CSV row per layer.")] = False,
    as_json: options.Json = False,
) -> None:
    """How many arbitrary facts could each linear layer of a model hold?

    Reads shapes only, never weights. The number is an upper bound for one linear map with fixed
    generic embeddings, not a promise about a trained network.

    Example: simonides plan llama-3-8b --facts 20k --tokens-per-fact 4
    """
    from simonides.planner.model import selected
    from simonides.planner.plan import plan as plan_model
    from simonides.planner.recommend import recommend
    from simonides.planner.source import read_model

    if as_csv and as_json:
        raise arguments.refuse("csv", True, "left out beside --json", "choose one of the two")
    model = read_model(file)
    if layers:
        model = selected(model, *layers)
    answer = plan_model(model, candidates=candidates, lora_rank=lora_rank)
    tokens = _tokens(tokens_per_fact, bits_per_fact, facts, answer.candidates)
    advice = (
        None if facts is None else recommend(answer, options.number(facts), tokens_per_fact=tokens)
    )
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
        "recommendation": None if advice is None else _advice(advice),
        "rank_pattern": None if advice is None else advice.rank_pattern,
        "skipped": [asdict(part) for part in answer.model.skipped],
        "notes": [*answer.notes, *(() if advice is None else advice.notes)],
    }


def _tokens(tokens: float | None, bits: float | None, facts: str | None, candidates: int) -> float:
    """Return how many tokens a fact has, given as such or by its bits."""
    named = {"tokens_per_fact": tokens, "bits_per_fact": bits}
    given = {name: value for name, value in named.items() if value is not None}
    if given and facts is None:
        name, value = next(iter(given.items()))
        raise arguments.refuse(name, value, "left out without --facts", "pass --facts too")
    if len(given) > 1:
        raise arguments.refuse(
            "bits_per_fact", bits, "left out beside --tokens-per-fact", "choose one of the two"
        )
    if bits is None:
        return 1.0 if tokens is None else tokens
    return arguments.positive("bits_per_fact", bits, remedy="pass what a fact says") / math.log2(
        candidates
    )


def _advice(advice: Recommendation) -> dict[str, Any]:
    from simonides.planner.recommend import EFFICIENCY

    return {
        "rank": advice.rank,
        "target_modules": advice.target_modules,
        "parameters": advice.parameters,
        "share_of_capacity": advice.share_of_capacity,
        "limit": advice.limit,
        "training_reached": EFFICIENCY,
        "sentence": advice.sentence,
        "smallest_rank": advice.smallest_rank,
        "tokens_per_fact": advice.tokens_per_fact,
        "tokens": advice.tokens,
        "bits": advice.bits,
        "capacity": advice.capacity,
        "lora_config": advice.lora_config,
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
    if advice is not None:
        _print_advice(answer, advice)
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


def _print_advice(answer: Plan, advice: Recommendation) -> None:
    """Print the recommendation, and what to paste."""
    facts = f"{advice.facts:,} facts"
    if advice.tokens != advice.facts:
        facts += f" of {short(advice.tokens_per_fact)} tokens: {advice.tokens:,} to recall"
    smallest = "none" if advice.smallest_rank is None else f"{advice.smallest_rank:,}"
    output.print_line(f"{advice.sentence}\n")
    output.print_table(
        f"{answer.model.source}, {facts}",
        ["", ""],
        [
            ["rank", "none" if advice.rank is None else f"{advice.rank:,}"],
            ["trained parameters", f"{advice.parameters:,}"],
            ["share of capacity", f"{advice.share_of_capacity:.2%}"],
            ["bits in the facts", f"{advice.bits:,.0f}"],
            ["bits at capacity", f"{advice.capacity * math.log2(answer.candidates):,.0f}"],
            ["smallest rank with room", smallest],
        ],
        advice.notes,
    )
    if advice.lora_config is not None:
        output.print_line(f"\n{advice.lora_config}")
    output.print_line("")


def _shape(layer: Layer) -> str:
    return f"{layer.dim_out:,} x {layer.dim_in:,}"


def _cells(bound: Bound | Total) -> list[str]:
    error = f" ± {count(bound.facts_stderr)}" if bound.facts_stderr else ""
    return [count(bound.facts) + error, f"{bound.bits_per_parameter:.2f}"]
