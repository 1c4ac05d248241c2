"""Real encoders measured: one as a configuration draws it, one that was trained."""

import warnings
from pydoc_data.topics import topics
from typing import Any

from examples.encoder import folder
from simonides.curves.table import Table, stacked
from simonides.signal import PoorTheoryWarning, measure
from simonides.signal.paper.curves import measurement_table

SEQUENCES, TOKENS = 16, 64
STD = 0.05
"""Two and a half times what BERT uses: weights that make tokens collapse within its depth."""

TITLES = {
    "random": f"BERT of 12 blocks, d = 256, weights drawn at {STD:g}",
    "trained": "all-MiniLM-L6-v2, trained: 6 blocks, d = 384",
}


def run() -> list[dict[str, Any]]:
    """Measure encoders on Python's help, one random and one trained, with theory beside."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    words = AutoTokenizer.from_pretrained(folder())
    text = [topics[name] for name in sorted(topics) if len(topics[name]) > 8 * TOKENS]
    batch = words(
        text[:SEQUENCES], return_tensors="pt", truncation=True, max_length=TOKENS, padding=True
    )
    torch.manual_seed(0)
    drawn = BertConfig(
        hidden_size=256, num_hidden_layers=12, num_attention_heads=4, intermediate_size=1024,
        initializer_range=STD,
    )  # fmt: skip
    models = {
        "random": BertModel(drawn, add_pooling_layer=False),
        "trained": BertModel.from_pretrained(folder(), add_pooling_layer=False),
    }
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)  # the trained one is to show it
        for name, model in models.items():
            table = measurement_table(measure(model, batch), TITLES[name])
            rows += [{"model": name, **row} for row in table.records()]
    return rows


def picture_table(rows: list[dict[str, Any]], name: str) -> Table:
    """Return one model's rows as the table its picture reads."""
    mine = [row for row in rows if row["model"] == name]
    columns = [{key: value for key, value in row.items() if key != "model"} for row in mine]
    return stacked("measured", TITLES[name], columns)
