"""What is printed for PEFT against PEFT itself: it adapts the intended modules, at the intended ranks."""

import re
import warnings

import pytest
from small_models import built

from simonides.planner.families import FAMILIES, model_of
from simonides.planner.model import out_of_reach, selected
from simonides.planner.plan import plan
from simonides.planner.recommend import recommend

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def adapted(network, text: str) -> dict[str, int]:
    """Return the modules that a printed LoraConfig adapts, and their ranks."""
    peft = pytest.importorskip("peft", reason="comes with the extra 'hf'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = peft.get_peft_model(network, eval(text, {"LoraConfig": peft.LoraConfig}))
    return {
        name.removeprefix("base_model.model."): module.r["default"]
        for name, module in model.named_modules()
        if isinstance(module, peft.tuners.lora.LoraLayer)
    }


def intended(network, advice) -> dict[str, int]:
    """Return the modules that the advice is about, and the largest ranks they have up to its own."""
    layers = {layer.name: layer for layer in advice.layers}
    modules = {
        name: layers.get(re.sub(r"\b\d+\b", "*", name)) for name, _ in network.named_modules()
    }
    return {
        name: min(advice.rank, layer.shortest)
        for name, layer in modules.items()
        if layer is not None
    }


@pytest.mark.parametrize("kind", FAMILIES)
def test_peft_adapts_the_intended_modules(kind):
    _, config = built(kind)
    answer = plan(model_of("made", config))
    total = answer.total.facts
    for facts in (10, round(0.1 * total)):  # at the least rank, and beyond that of narrow layers
        advice = recommend(answer, facts)
        network, _ = built(kind)
        modules = intended(network, advice)
        assert len(modules) == sum(layer.count for layer in advice.layers)
        assert adapted(network, advice.lora_config) == modules


@pytest.mark.parametrize("kind", FAMILIES)
def test_peft_adapts_layers_that_were_selected_one_by_one(kind):
    _, config = built(kind)
    model = model_of("made", config)
    for name, short in model.names.items():
        chosen = selected(model, short)
        if name in out_of_reach(model):
            continue
        advice = recommend(plan(chosen), 1)
        network, _ = built(kind)
        modules = intended(network, advice)
        assert modules
        assert {re.sub(r"\b\d+\b", "*", module) for module in modules} == {name}
        assert adapted(network, advice.lora_config) == modules


def test_what_is_called_out_of_reach_is():
    """Should PEFT learn to adapt these, the planner need not leave them out any longer."""
    peft = pytest.importorskip("peft", reason="comes with the extra 'hf'")
    network, _ = built("mamba")
    with pytest.raises(ValueError, match="incompatible with Mamba"):
        peft.get_peft_model(network, peft.LoraConfig(target_modules=["out_proj"]))
    network, _ = built("deepseek_v3")
    config = peft.LoraConfig(target_modules=["mlp.gate_proj", "mlp.up_proj"])
    model = peft.get_peft_model(network, config)
    layers = [
        name for name, part in model.named_modules() if isinstance(part, peft.tuners.lora.LoraLayer)
    ]
    assert not [name for name in layers if name.endswith((".mlp.gate_proj", ".mlp.up_proj"))]
