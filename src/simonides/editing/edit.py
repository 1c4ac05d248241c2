"""Facts put into a language model: read, stored, proved, run, measured and written."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.editing import folder
from simonides.editing.language_model import LanguageModel
from simonides.editing.ordinary_text import python_text, read_text
from simonides.editing.statements import given_statements, read_statements
from simonides.editing.storing import place, store
from simonides.editing.text_statistics import second_moments, stream_change, text_score
from simonides.editing.token_facts import kept_facts, token_facts, without
from simonides.failures import BadArgumentError
from simonides.interrupts import Keyboard
from simonides.reading import expecting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from simonides.arrays import Reals
    from simonides.certificate import ChangeCertificate
    from simonides.editing.ordinary_text import OrdinaryText
    from simonides.editing.statements import Statement
    from simonides.editing.storing import StoredChange
    from simonides.editing.text_statistics import TextScore
    from simonides.editing.token_facts import TokenFact
    from simonides.problems.original import OriginalProblem
    from simonides.solvers.solution import Progress

MARGIN = 0.05
"""Of the stream's root mean square: a thousand facts hold by it far beyond single precision's rounding."""


_NAMED = 10
"""Lines of facts that are not recalled named in a note, which is read; ``lost`` has them all."""


@dataclass(frozen=True, eq=False)
class Edit:
    """Facts in a language model, what is proved, what was seen when it ran, and what it cost.

    Attributes
    ----------
    facts, stored : int
        Tokens that were to be learnt, and those that the edited model, run, finds most likely.
    preserved, kept : int
        Tokens that were to stay, and those that the edited model still finds most likely.
    proved : int
        Facts, those to stay among them, proved to win in exact arithmetic with the weights as written.
    change, change_lower : float
        Root mean square by which the change moves the stream of ordinary text, by the second moments, and
        what no change with the same margins falls below.
    stream_change : float
        The same as a share of the stream, measured on held-out text.
    perplexity_before, perplexity_after, next_token_before, next_token_after : float
        On held-out text: perplexity, and the share of tokens found most likely.
    seconds, reading_seconds : float
        For storing and proving, and for reading keys and text.
    steps : int
        Newton steps.
    weights : array
        The change itself, as written.
    certificate, problem
        For :func:`simonides.verify_change`.
    model : LanguageModel
        The model, unchanged; ``model.changed(weights)`` runs a block with the change.
    lost : tuple of int
        Lines of facts that the edited model, run, does not recall: of the file, or places in a list.
    notes : tuple of str
        What else is to be known.
    interrupted, timed_out : bool
        Whether storing was cut short; the change is then the best by then.

    Examples
    --------
    >>> outcome = edit("SmolLM2", [("The capital of Atlantis is", "Poseidonis")])  # doctest: +SKIP
    >>> outcome.stored, outcome.proved  # doctest: +SKIP
    (4, 4)
    """

    facts: int
    stored: int
    preserved: int
    kept: int
    proved: int
    change: float
    change_lower: float
    stream_change: float
    perplexity_before: float
    perplexity_after: float
    next_token_before: float
    next_token_after: float
    seconds: float
    reading_seconds: float
    steps: int
    weights: Reals = field(repr=False)
    certificate: ChangeCertificate | None = field(repr=False)
    problem: OriginalProblem | None = field(repr=False)
    model: LanguageModel = field(repr=False)
    lost: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    timed_out: bool = False

    def record(self) -> dict[str, Any]:
        """Return the numbers, by name."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("weights", "certificate", "problem", "model")
        }

    def save(self, path: str | Path) -> Path:
        """Write the edited model, the change, its proof and this record to a folder, whole or not at all.

        ``transformers`` loads the folder as a model. One that is not empty is refused unless it holds an
        earlier edit.
        """
        return folder.save(
            path, self.model, self.weights, self.certificate, self.problem, self.record()
        )


def edit(
    model: str | Path | LanguageModel,
    facts: str | Path | Iterable[tuple[str, str]],
    *,
    layer: int = -1,
    keep: str | Path | None = None,
    preserve: str | Path | Iterable[tuple[str, str]] | None = None,
    margin: float = MARGIN,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[str], None] | None = None,
) -> Edit:
    """Put facts into the last layer of a language model with the least change of its weights.

    Which token wins after a prompt is linear in the weights of the last layer's ``mlp.down_proj`` where the
    final norm is an RMSNorm. So what is proved is proved of the model itself, up to its own floating point;
    that it holds there too is checked by running the edited model.

    Parameters
    ----------
    model : path or LanguageModel
        A folder that ``transformers`` wrote, a ``.gguf`` file, or a model that is loaded.
    facts : path or pairs of str
        A CSV file with the columns prompt and answer, or such pairs. An answer follows its prompt after one
        space. Each of its tokens is a fact.
    layer : int
        The last one: -1.
    keep : path, optional
        Ordinary text that the change is to disturb least: 60% of it for second moments, the rest for
        perplexity. Default: the language reference that comes with Python.
    preserve : path or pairs of str, optional
        Prompts whose present next token must stay; with an answer also that after each token of it.
    margin : float
        Distance at which each stream must lie inside its token's cell, over the stream's root mean square.
    time_limit : float, optional
        Seconds for storing, after which the best so far is taken. So it is when interrupted.
    threads : int, optional
        Threads to use.
    watch : callable, optional
        Called with a line about what is being done.

    Returns
    -------
    Edit
        What is stored, proved and measured; ``save`` writes the edited model.

    Raises
    ------
    BadArgumentError
        For files that are not what they must be, facts that contradict each other, tokens that no weights
        tell apart, other layers, and models of other kinds.

    Examples
    --------
    >>> outcome = edit("SmolLM2", [("The capital of Atlantis is", "Poseidonis")])  # doctest: +SKIP
    >>> outcome.save("edited")  # doctest: +SKIP
    """
    margin = arguments.positive("margin", margin, remedy="pass a share such as 0.05")
    statements = _statements("facts", facts, need_answer=True)
    staying = [] if preserve is None else _statements("preserve", preserve, need_answer=False)
    text = python_text() if keep is None else read_text(keep)
    say = watch if watch is not None else _silent
    with _torch_threads(threads):
        say("loading the model")
        loaded = model if isinstance(model, LanguageModel) else LanguageModel.load(model)
        _check_layer(layer, loaded)
        began = time.perf_counter()
        with expecting("facts", _name(facts), "facts that a model can hold", "change that line"):
            learnt = token_facts(statements, loaded.tokenizer, loaded.longest)
        with expecting(
            "preserve", _name(preserve), "prompts that a model reads", "change that line"
        ):
            kept = kept_facts(staying, loaded.tokenizer, loaded.longest, loaded.next_tokens)
            kept = without(kept, learnt)
        with expecting("facts", _name(facts), "facts that a model can hold", "change that line"):
            placed = place(loaded, learnt, kept, margin, lambda n: say(f"keys of {n:,} facts read"))
        metric = second_moments(loaded, text.learnt, lambda n: say(f"{n:,} tokens of text read"))
        before = text_score(loaded, text.held_out, lambda n: say(f"{n:,} tokens foretold"))
        reading = time.perf_counter() - began
        began = time.perf_counter()
        stored = store(
            loaded, placed, metric, time_limit=time_limit, threads=threads,
            watch=lambda progress: say(_line(progress)),
        )  # fmt: skip
        seconds = time.perf_counter() - began
        say("running the edited model")
        seen = _seen(loaded, stored, learnt, kept, text)
    return _outcome(loaded, stored, seen, (learnt, kept), before, (seconds, reading), text)


@dataclass
class _Seen:
    """What the edited model did when it ran; nothing of it if that was interrupted."""

    stored: int = 0
    kept: int = 0
    lost: tuple[int, ...] = ()
    after: TextScore | None = None
    moved: float = np.nan
    interrupted: bool = True


def _seen(
    model: LanguageModel,
    stored: StoredChange,
    learnt: list[TokenFact],
    kept: list[TokenFact],
    text: OrdinaryText,
) -> _Seen:
    seen = _Seen()
    with Keyboard(), model.changed(stored.change):
        missing, gone = (_missing(model, facts) for facts in (learnt, kept))
        seen.stored, seen.kept = len(learnt) - len(missing), len(kept) - len(gone)
        seen.lost = tuple(sorted({fact.line for fact in missing}))
        seen.after = text_score(model, text.held_out)
        seen.interrupted = False
    if not seen.interrupted:
        seen.moved = stream_change(model, text.held_out, stored.change)
    return seen


def _missing(model: LanguageModel, facts: list[TokenFact]) -> list[TokenFact]:
    """Return the facts whose token the model, run as it is, does not find most likely."""
    tokens = model.next_tokens([fact.prefix for fact in facts])
    return [fact for token, fact in zip(tokens, facts, strict=True) if token != fact.target]


def _outcome(
    model: LanguageModel,
    stored: StoredChange,
    seen: _Seen,
    facts: tuple[list[TokenFact], list[TokenFact]],
    before: TextScore,
    times: tuple[float, float],
    text: OrdinaryText,
) -> Edit:
    solution, after = stored.solution, seen.after
    learnt, kept = facts
    return Edit(
        facts=len(learnt),
        stored=seen.stored,
        preserved=len(kept),
        kept=seen.kept,
        proved=stored.proved,
        change=solution.change if solution.change is not None else np.nan,
        change_lower=stored.verification.change_lower,
        stream_change=seen.moved,
        perplexity_before=before.perplexity,
        perplexity_after=np.nan if after is None else after.perplexity,
        next_token_before=before.next_token,
        next_token_after=np.nan if after is None else after.next_token,
        seconds=times[0],
        reading_seconds=times[1],
        steps=solution.steps,
        weights=stored.change,
        certificate=stored.certificate,
        problem=stored.problem,
        model=model,
        lost=seen.lost,
        notes=tuple(_notes(stored, seen, len(learnt) + len(kept), before, text)),
        interrupted=solution.interrupted or seen.interrupted,
        timed_out=solution.timed_out,
    )


def _notes(
    stored: StoredChange, seen: _Seen, facts: int, before: TextScore, text: OrdinaryText
) -> list[str]:
    notes = [
        f"Perplexity on {before.tokens:,} tokens of {text.source}, others than those kept undisturbed.",
        "Proved of the model's last layer in exact arithmetic; its own rounding is seen by running it.",
    ]
    if stored.refuted:
        notes.append(
            "No change of this layer recalls all facts: there is a proof. These fit together."
        )
    elif stored.proved < facts:
        notes.append(f"{facts - stored.proved:,} facts are not proved to be recalled.")
    if seen.lost:
        lines = ", ".join(map(str, seen.lost[:_NAMED]))
        more = f" and {len(seen.lost) - _NAMED:,} more" if len(seen.lost) > _NAMED else ""
        notes.append(f"Not recalled: what lines {lines}{more} of the facts ask for.")
    if stored.solution.interrupted:
        notes.append("Interrupted: this is the best by then.")
    elif stored.solution.timed_out:
        notes.append("Out of time: this is the best by then.")
    if seen.interrupted:
        notes.append("The edited model was not run to the end: it was interrupted.")
    return notes


def _check_layer(layer: int, model: LanguageModel) -> None:
    if layer not in (-1, model.layers - 1):
        raise arguments.refuse(
            "layer", layer, "the last, -1",
            "only there is the order of logits linear in the weights, so that a change can be proved; "
            "earlier layers are not changed yet",
        )  # fmt: skip


def _statements(name: str, source: Any, *, need_answer: bool) -> list[Statement]:
    if not isinstance(source, str) and not hasattr(source, "__fspath__"):
        try:
            return given_statements(source, name, need_answer=need_answer)
        except BadArgumentError:
            raise
        except (TypeError, ValueError) as error:
            raise arguments.refuse(name, "pairs", "of prompt and answer", str(error)) from None
    return read_statements(source, name, need_answer=need_answer)


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str) or hasattr(source, "__fspath__") else "pairs"


def _silent(_line: str) -> None:
    """Show nothing."""


def _line(progress: Progress) -> str:
    return f"step {progress.step}: {progress.violations:,} facts not recalled"


class _torch_threads:  # noqa: N801 - used as a block
    """A block in which torch uses so many threads."""

    def __init__(self, threads: int | None) -> None:
        if threads is not None:
            arguments.whole("threads", threads, remedy="pass the number of threads to use")
        self._threads, self._before = threads, 0

    def __enter__(self) -> None:
        if self._threads is not None:
            import torch

            self._before = torch.get_num_threads()
            torch.set_num_threads(self._threads)

    def __exit__(self, *_: object) -> None:
        if self._threads is not None:
            import torch

            torch.set_num_threads(self._before)
