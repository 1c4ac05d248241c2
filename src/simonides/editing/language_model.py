r"""A language model whose last layer's weights enter its answers linearly.

The last layer adds :math:`W k` to a token's stream; the final norm divides the stream :math:`z` by its
root mean square and multiplies it by gains :math:`g`; the head compares it with its rows :math:`u_j`. One
positive number divides all logits of a token, so that which of them wins is decided by
:math:`y_j^T (b + \Delta k)` with :math:`y_j = g \odot u_j` and :math:`b` the stream without a change.
That a model is of this kind is not taken from its name: a change at random is made, and must move the
stream and order the logits as said.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.editing.loading import loaded
from simonides.interrupts import HOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from simonides.arrays import Reals

_BATCH_TOKENS = 2048
"""Tokens that run at once: enough to keep a core busy, and the streams of a large model fit."""

_BATCH_ROWS = 128
"""Prompts that run at once: each has a logit for every token of the vocabulary."""

_LONGEST = 4096
"""Tokens of a text, whatever a configuration says: some pages, at which attention takes little memory."""

_PROBE = 0.1
"""Length of a change at random over that of the stream: far above rounding, and nothing saturates."""

_PROBE_ERROR = 1e-3
"""Of the stream: single precision loses a hundred times less, and another architecture moves more."""

_KIND = "a model whose last layer has mlp.down_proj and whose final norm is an RMSNorm"
_REMEDY = "Llama, SmolLM2, Mistral and Qwen are such models"


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A causal language model in single precision, its tokenizer, and the layer that is changed.

    Attributes
    ----------
    source : str
        Where it is from.
    network, tokenizer
        As ``transformers`` gives them.
    layers : int
        How many it has.
    layer : int
        The one whose matrix is changed, from zero on.
    """

    source: str
    network: Any
    tokenizer: Any
    layers: int
    layer: int

    @classmethod
    def load(cls, source: str | Path) -> LanguageModel:
        """Return the model of a folder that ``transformers`` wrote, or of a ``.gguf`` file."""
        network, tokenizer = loaded(Path(source))
        return cls.of(network, tokenizer, str(source))

    @classmethod
    def of(cls, network: Any, tokenizer: Any, source: str = "a network") -> LanguageModel:
        """Return the model of a network and its tokenizer, once it is known to be of this kind."""
        network = network.float().eval()
        layers: Any = getattr(network.base_model, "layers", ())
        down = getattr(getattr(layers[-1], "mlp", None), "down_proj", None) if len(layers) else None
        if down is None or not hasattr(network.base_model, "norm"):
            raise arguments.refuse("model", source, _KIND, _REMEDY)
        model = cls(source, network, tokenizer, len(layers), len(layers) - 1)
        if not hasattr(down, "weight") or not model.weight_name:
            raise arguments.refuse("model", source, _KIND, _REMEDY)
        if model.head.bias is not None:
            raise arguments.refuse(
                "model",
                source,
                "one whose head has no bias",
                "a bias weighs by the stream's length",
            )
        model._probe()
        return model

    def at(self, layer: int) -> LanguageModel:
        """Return the same model, of which another layer's matrix is changed."""
        return replace(self, layer=layer)

    @property
    def down(self) -> Any:
        """The matrix that is changed."""
        return self.network.base_model.layers[self.layer].mlp.down_proj

    @property
    def changeable(self) -> bool:
        """Whether the layer has a matrix that can be changed."""
        return hasattr(
            getattr(self.network.base_model.layers[self.layer], "mlp", None), "down_proj"
        )

    @property
    def after(self) -> Any:
        """What reads the stream that leaves the layer: the next one, or the final norm."""
        base = self.network.base_model
        return base.norm if self.layer == self.layers - 1 else base.layers[self.layer + 1]

    @property
    def weight_name(self) -> str:
        """Name of the matrix that is changed, as the network's own files have it; empty if it has none."""
        weight = self.down.weight
        named = self.network.named_parameters()
        return next((name for name, parameter in named if parameter is weight), "")

    @property
    def head(self) -> Any:
        """What compares a token's stream with every token of the vocabulary."""
        return self.network.get_output_embeddings()

    @property
    def weight(self) -> Reals:
        """The weights of the layer, shape (stream, keys)."""
        return _array(self.down.weight)

    @property
    def longest(self) -> int:
        """Tokens of the longest text that it reads."""
        own = int(getattr(self.network.config, "max_position_embeddings", _BATCH_TOKENS))
        return min(own, _LONGEST)

    def outputs(self) -> Reals:
        """Return what every token of the vocabulary is compared by: the head's rows times the gains."""
        gains = self._gains()
        if gains is None:
            kind = type(self.network.base_model.norm).__name__
            condition = "one whose final norm divides by the root mean square alone"
            reason = (
                f"its {kind} does not, so that the order of logits is not linear in the weights"
            )
            raise arguments.refuse("model", self.source, condition, reason)
        return np.ascontiguousarray(_array(self.head.weight) * gains)

    def _gains(self) -> Reals | None:
        """Return the gains of the final norm if it is an RMSNorm: as stored, or less one as Gemma does."""
        import torch

        norm = self.network.base_model.norm
        weight = getattr(norm, "weight", None)
        if weight is None:
            return None
        stream = torch.randn(8, len(weight), generator=torch.Generator().manual_seed(0)) + 0.5
        with torch.no_grad():
            ratio = _array(norm(stream) * stream.square().mean(1, keepdim=True).sqrt() / stream)
        for gains in (_array(weight), _array(weight) + 1):
            if np.allclose(ratio, gains, rtol=_PROBE_ERROR, atol=_PROBE_ERROR):
                return gains
        return None

    def _probe(self) -> None:
        """Refuse a model that a change at random does not move as said."""
        outputs, vocabulary = self.outputs(), self.network.config.vocab_size
        prefix = tuple(np.linspace(1, vocabulary - 1, 6, dtype=int).tolist())
        keys, streams = self.read([prefix])
        shape = self.weight.shape
        change = np.random.default_rng(0).standard_normal(shape)
        size = float(np.linalg.norm(streams))
        change *= _PROBE * size / max(float(np.linalg.norm(change @ keys[0])), 1e-300)
        with self.changed(change):
            _, moved = self.read([prefix])
            logits = self._logits([prefix])[0]
        expected = streams[0] + change @ keys[0]
        steps = np.diff(logits[np.argsort(outputs @ expected)])
        linear = float(np.linalg.norm(moved[0] - expected)) <= _PROBE_ERROR * size
        ordered = float(steps.min(initial=0.0)) >= -_PROBE_ERROR * float(np.ptp(logits))
        if not (linear and ordered):
            condition = "one whose last layer adds its output to the stream that the head reads"
            raise arguments.refuse("model", self.source, condition, _REMEDY)

    def changed(self, change: Reals) -> contextlib.AbstractContextManager[None]:
        """Run the block with a change added to the layer's weights, rounded to single precision."""
        weight = (self.weight + change).astype(np.float32)
        return self.replaced({self.weight_name: weight})

    @contextlib.contextmanager
    def replaced(self, weights: Mapping[str, Any]) -> Iterator[None]:
        """Run the block with other weights, by their names and in single precision."""
        import torch

        parameters = dict(self.network.named_parameters())
        before = {name: parameters[name].detach().clone() for name in weights}
        try:
            with torch.no_grad():
                for name, weight in weights.items():
                    parameters[name].copy_(torch.from_numpy(weight))
            yield
        finally:
            with HOLD, torch.no_grad():
                for name, weight in before.items():
                    parameters[name].copy_(weight)

    def written(self, change: Reals) -> Reals:
        """Return the change that is left of one once the changed weights are in single precision."""
        weight = self.weight
        return np.asarray((weight + change).astype(np.float32).astype(np.float64) - weight)

    def read(
        self, prefixes: Sequence[tuple[int, ...]], watch: Callable[[int], None] | None = None
    ) -> tuple[Reals, Reals]:
        """Return what the matrix reads at each prefix's last token, and the stream behind the layer."""
        shape = self.down.weight.shape
        keys, streams = (np.empty((len(prefixes), size)) for size in reversed(shape))
        for rows, tokens in batches(prefixes, watch):
            states = self.states(tokens)
            keys[rows], streams[rows] = (_array(state[:, -1]) for state in states)
        return keys, streams

    def states(self, tokens: Any, past: Any = None) -> tuple[Any, Any]:
        """Return the keys and streams of every token, shape (texts, tokens, size), after a cached past."""
        import torch

        self._check(tokens)
        seen: dict[str, Any] = {}

        def seeing(name: str) -> Callable[[Any, Any], None]:
            return lambda _module, inputs: seen.__setitem__(name, inputs[0])

        hooks = [
            self.down.register_forward_pre_hook(seeing("keys")),
            self.after.register_forward_pre_hook(seeing("stream")),
        ]
        try:
            with torch.no_grad():
                self.network.base_model(
                    input_ids=tokens, past_key_values=past, use_cache=past is not None
                )
        finally:
            for hook in hooks:
                hook.remove()
        return seen["keys"], seen["stream"]

    def logits(self, tokens: Any, **options: int) -> Any:
        """Return the logits after each token, shape (texts, tokens, vocabulary)."""
        self._check(tokens)
        return self.network(input_ids=tokens, use_cache=False, **options).logits

    def _check(self, tokens: Any) -> None:
        rows = len(self.network.get_input_embeddings().weight)
        if int(tokens.max()) >= rows:
            condition = f"one that knows every token of its tokenizer, which has more than {rows:,}"
            raise arguments.refuse("model", self.source, condition, "pass a whole model")

    def next_tokens(
        self, prefixes: Sequence[tuple[int, ...]], watch: Callable[[int], None] | None = None
    ) -> list[int]:
        """Return the token that the model, run as it is, finds most likely after each prefix."""
        answers = np.empty(len(prefixes), dtype=np.int64)
        for rows, tokens in batches(prefixes, watch):
            answers[rows] = self._last_logits(tokens).argmax(1)
        return [int(token) for token in answers]

    def _logits(self, prefixes: Sequence[tuple[int, ...]]) -> Reals:
        (_, tokens), *_ = batches(prefixes)
        return _array(self._last_logits(tokens))

    def _last_logits(self, tokens: Any) -> Any:
        import torch

        with torch.no_grad():
            return self.logits(tokens, logits_to_keep=1)[:, -1]


def batches(
    prefixes: Sequence[tuple[int, ...]], watch: Callable[[int], None] | None = None
) -> Iterator[tuple[list[int], Any]]:
    """Yield prefixes of equal length, so that none is padded, with their places."""
    import torch

    places = defaultdict(list)
    for place, prefix in enumerate(prefixes):
        places[len(prefix)].append(place)
    done = 0
    for length, rows in sorted(places.items()):
        count = max(1, min(_BATCH_ROWS, _BATCH_TOKENS // length))
        for first in range(0, len(rows), count):
            part = rows[first : first + count]
            yield part, torch.tensor([prefixes[row] for row in part])
            done += len(part)
            if watch is not None:
                watch(done)


def _array(tensor: Any) -> Reals:
    return np.asarray(tensor.detach().numpy(), dtype=np.float64)
