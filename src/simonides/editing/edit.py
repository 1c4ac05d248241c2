"""Facts put into a language model: read, stored, proved, run, measured and written."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.editing import folder
from simonides.editing.language_model import LanguageModel
from simonides.editing.ordinary_text import python_text, read_text
from simonides.editing.running import Run, run
from simonides.editing.statements import given_statements, read_statements
from simonides.editing.storing import place, refuse_twins, store
from simonides.editing.text_statistics import second_moments, text_score
from simonides.editing.token_facts import kept_facts, token_facts, without
from simonides.failures import BadArgumentError
from simonides.problems import checked
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


_RUINED = 0.2
"""Change of the stream above which a note says so: by a quarter, least squares made perplexity 35 of 20."""

_LARGEST = 100.0
"""Margin, in root mean squares of the stream: one that is asked for by mistake."""

_NAMED = 10
"""Lines of facts that are not recalled named in a note, which is read; ``lost`` has them all."""


_OBJECTS = ("weights", "factors", "certificate", "problem", "statements", "prefixes", "model")
"""What of an edit is no number."""


@dataclass(frozen=True, eq=False)
class Edit:
    """Facts in a language model, what is proved, what was seen when it ran, and what it cost.

    Attributes
    ----------
    rows, facts, stored : int
        Lines of facts, their tokens, which were to be learnt, and those that the edited model, run,
        finds most likely; None where it was not run to the end.
    preserved, kept : int
        Tokens that were to stay, and those that the edited model still finds most likely, likewise.
    proved : int
        Facts, those to stay among them, proved to win in exact arithmetic with the weights as written.
    margin : float
        As it was asked for.
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
    factors : pair of arrays or None
        Two whose product it is up to that rounding, where its rank is bounded.
    certificate, problem
        For :func:`simonides.verify_change`.
    statements, prefixes
        The facts as they were given, and the tokens before each that is proved.
    model : LanguageModel
        The model, unchanged; ``model.changed(weights)`` runs a block with the change.
    lost : tuple of int
        Lines of facts that the edited model, run, does not recall: of the file, or places in a list.
    notes : tuple of str
        What else is to be known.
    useful : bool
        Whether the change recalls more facts than no change, or all of them.
    interrupted, timed_out : bool
        Whether it was cut short; the change is then the best by then.

    Examples
    --------
    >>> outcome = edit("SmolLM2", [("The capital of Atlantis is", "Poseidonis")])  # doctest: +SKIP
    >>> outcome.stored, outcome.proved  # doctest: +SKIP
    (3, 3)
    """

    rows: int
    facts: int
    stored: int | None
    preserved: int
    kept: int | None
    proved: int
    margin: float
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
    factors: tuple[Reals, Reals] | None = field(repr=False)
    certificate: ChangeCertificate | None = field(repr=False)
    problem: OriginalProblem | None = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)
    prefixes: tuple[tuple[int, ...], ...] = field(repr=False)
    model: LanguageModel = field(repr=False)
    lost: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    useful: bool = True
    interrupted: bool = False
    timed_out: bool = False

    def record(self) -> dict[str, Any]:
        """Return the numbers, by name."""
        return {name: value for name, value in vars(self).items() if name not in _OBJECTS}

    def save(self, path: str | Path, *, adapter: bool = False) -> Path:
        """Write the edited model, its proof and this record to a folder that is new or empty.

        It is there whole or not at all, and ``transformers`` loads it as a model; or, as an adapter, PEFT
        loads it on the model as it was.
        """
        return folder.save(path, self, adapter=adapter)


def edit(
    model: str | Path | LanguageModel,
    facts: str | Path | Iterable[tuple[str, str]],
    *,
    layer: int = -1,
    keep: str | Path | None = None,
    preserve: str | Path | Iterable[tuple[str, str]] | None = None,
    margin: float = MARGIN,
    rank: int | None = None,
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
    rank : int, optional
        Largest rank of the change, which is longer for it; ``save`` can then write an adapter.
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
    margin = arguments.between("margin", margin, 0, _LARGEST, remedy="pass a share such as 0.05")
    arguments.time_limit(time_limit)
    statements = _statements("facts", facts, need_answer=True)
    staying = [] if preserve is None else _statements("preserve", preserve, need_answer=False)
    text = python_text() if keep is None else read_text(keep)
    say = watch if watch is not None else _silent
    with _torch_threads(threads):
        say("loading the model")
        loaded = model if isinstance(model, LanguageModel) else LanguageModel.load(model)
        _check_layer(layer, loaded)
        if rank is not None:
            rank = checked.rank_of_shape(rank, *reversed(loaded.weight.shape))
        began = time.perf_counter()
        with expecting("facts", _name(facts), "facts that a model can hold", "change that line"):
            learnt = token_facts(statements, loaded.tokenizer, loaded.longest)
            refuse_twins(loaded, learnt)
        with expecting(
            "preserve", _name(preserve), "prompts that a model reads", "change that line"
        ):
            kept = kept_facts(staying, loaded.tokenizer, loaded.longest, loaded.next_tokens)
            kept = without(kept, learnt)
            refuse_twins(loaded, kept)
        placed = place(loaded, learnt, kept, margin, lambda n: say(f"keys of {n:,} facts read"))
        metric = second_moments(loaded, text.learnt, lambda n: say(f"{n:,} tokens of text read"))
        before = text_score(loaded, text.held_out, lambda n: say(f"{n:,} tokens foretold"))
        reading = time.perf_counter() - began
        began = time.perf_counter()
        stored = store(
            loaded, placed, metric, rank=rank, time_limit=time_limit, threads=threads,
            watch=lambda progress: say(_line(progress)),
        )  # fmt: skip
        seconds = time.perf_counter() - began
        say("running the edited model")
        seen = run(loaded, stored.change, learnt, kept, text)
    request = _Request(tuple(statements), learnt, kept, margin, text)
    return _outcome(loaded, request, stored, seen, before, (seconds, reading))


@dataclass(frozen=True)
class _Request:
    """What was to be stored and kept, by what margin, beside what text."""

    statements: tuple[Statement, ...]
    learnt: list[TokenFact]
    kept: list[TokenFact]
    margin: float
    text: OrdinaryText

    @property
    def facts(self) -> list[TokenFact]:
        return [*self.learnt, *self.kept]


def _outcome(
    model: LanguageModel,
    request: _Request,
    stored: StoredChange,
    seen: Run,
    before: TextScore,
    times: tuple[float, float],
) -> Edit:
    solution, proof, after = stored.solution, stored.proof, seen.text
    facts = request.facts
    return Edit(
        rows=len(request.statements),
        facts=len(request.learnt),
        stored=seen.stored,
        preserved=len(request.kept),
        kept=seen.kept,
        proved=proof.facts,
        margin=request.margin,
        change=solution.change if solution.change is not None else np.nan,
        change_lower=proof.verification.change_lower,
        stream_change=seen.moved,
        perplexity_before=before.perplexity,
        perplexity_after=np.nan if after is None else after.perplexity,
        next_token_before=before.next_token,
        next_token_after=np.nan if after is None else after.next_token,
        seconds=times[0],
        reading_seconds=times[1],
        steps=solution.steps,
        weights=stored.change,
        factors=solution.factors,
        certificate=proof.certificate,
        problem=proof.problem,
        statements=request.statements,
        prefixes=tuple(facts[row].prefix for row in proof.rows),
        model=model,
        lost=seen.lost,
        notes=tuple(_notes(stored, seen, request, before)),
        useful=stored.useful,
        interrupted=solution.interrupted or seen.interrupted,
        timed_out=solution.timed_out,
    )


def _notes(stored: StoredChange, seen: Run, request: _Request, before: TextScore) -> list[str]:
    notes = [
        f"Perplexity is that of {before.tokens:,} held-out tokens of {request.text.source}.",
        "Proved of the last layer in exact arithmetic; that rounding is harmless is seen by running it.",
    ]
    unproved = len(request.facts) - stored.proof.facts
    if stored.crowded:
        notes.append(
            "No change of this layer gives every fact its margin; those stored fit together."
        )
    elif unproved:
        notes.append(f"{unproved:,} facts are not proved to be recalled.")
    if seen.lost:
        lines = ", ".join(map(str, seen.lost[:_NAMED]))
        more = f" and {len(seen.lost) - _NAMED:,} more" if len(seen.lost) > _NAMED else ""
        notes.append(f"Not recalled: what lines {lines}{more} of the facts ask for.")
    if seen.moved > _RUINED:
        notes.append(
            f"The change moves the stream of ordinary text by {seen.moved:.0%}: other answers suffer. "
            "Store fewer facts, or ask for a smaller margin."
        )
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
            threads = min(threads, os.cpu_count() or 1)
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
