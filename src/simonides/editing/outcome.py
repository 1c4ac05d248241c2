"""What an edit of a language model came to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.editing import folder

if TYPE_CHECKING:
    from pathlib import Path

    from simonides.arrays import Reals
    from simonides.certificate import ChangeCertificate
    from simonides.editing.language_model import LanguageModel
    from simonides.editing.middle import MiddleChange, Trial
    from simonides.editing.ordinary_text import OrdinaryText
    from simonides.editing.running import Run
    from simonides.editing.statements import Statement
    from simonides.editing.storing import StoredChange
    from simonides.editing.text_statistics import TextScore
    from simonides.editing.token_facts import TokenFact
    from simonides.problems.original import OriginalProblem

_RUINED = 0.2
"""Change of the stream above which a note says so: by a quarter, least squares made perplexity 35 of 20."""

_NAMED = 10
"""Lines of facts that are not recalled named in a note, which is read; ``lost`` has them all."""

_OBJECTS = (
    "weights",
    "factors",
    "certificate",
    "problem",
    "statements",
    "prefixes",
    "model",
    "middle",
)
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
        Root mean square by which the last layer's change moves the stream of ordinary text, by the second
        moments, and what no change with the same margins falls below.
    stream_change : float
        The same as a share of the stream, measured on held-out text.
    perplexity_before, perplexity_after, next_token_before, next_token_after : float
        On held-out text: perplexity, and the share of tokens found most likely.
    seconds, reading_seconds : float
        For storing and proving, and for reading keys and text.
    steps : int
        Newton steps.
    layer : int
        The one in the middle that was changed before the last; the last where none was.
    answered : int or None
        Subjects for which the layer in the middle has a value that gives all their answers.
    trials : tuple of Trial
        What the layers compared came to on some facts: shares of stored and of held-out wordings.
    weights : array
        The change of the last layer itself, as written.
    factors : pair of arrays or None
        Two whose product it is up to that rounding, where its rank is bounded.
    middle : MiddleChange or None
        That of the layer in the middle.
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
        Whether the last layer's change recalls more facts than none, or all are recalled, or the layer in
        the middle has a value for any.
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
    layer: int
    weights: Reals = field(repr=False)
    factors: tuple[Reals, Reals] | None = field(repr=False)
    certificate: ChangeCertificate | None = field(repr=False)
    problem: OriginalProblem | None = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)
    prefixes: tuple[tuple[int, ...], ...] = field(repr=False)
    model: LanguageModel = field(repr=False)
    middle: MiddleChange | None = field(default=None, repr=False)
    answered: int | None = None
    trials: tuple[Trial, ...] = ()
    lost: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    useful: bool = True
    interrupted: bool = False
    timed_out: bool = False

    def record(self) -> dict[str, Any]:
        """Return the numbers, by name."""
        values = {name: value for name, value in vars(self).items() if name not in _OBJECTS}
        return {**values, "trials": [asdict(trial) for trial in self.trials]}

    def save(self, path: str | Path, *, adapter: bool = False) -> Path:
        """Write the edited model, its proof and this record to a folder that is new or empty.

        It is there whole or not at all, and ``transformers`` loads it as a model; or, as an adapter, PEFT
        loads it on the model as it was.
        """
        return folder.save(path, self, adapter=adapter)


@dataclass(frozen=True)
class EditRequest:
    """What was to be stored and kept, by what margin, beside what text."""

    statements: tuple[Statement, ...]
    learnt: list[TokenFact]
    kept: list[TokenFact]
    margin: float
    text: OrdinaryText

    @property
    def facts(self) -> list[TokenFact]:
        """Those to be stored, and then those that are to stay."""
        return [*self.learnt, *self.kept]


def outcome_of(
    model: LanguageModel,
    request: EditRequest,
    middle: MiddleChange | None,
    stored: StoredChange,
    seen: Run,
    before: TextScore,
    times: tuple[float, float],
) -> Edit:
    """Return the edit that was asked for, with what it came to; ``times`` are for storing and reading."""
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
        layer=model.layer if middle is None else middle.layer,
        middle=middle,
        answered=None if middle is None else middle.reached,
        trials=() if middle is None else middle.trials,
        weights=stored.change,
        factors=solution.factors,
        certificate=proof.certificate,
        problem=proof.problem,
        statements=request.statements,
        prefixes=tuple(facts[row].prefix for row in proof.rows),
        model=model,
        lost=seen.lost,
        notes=tuple(_notes(middle, stored, seen, request, before)),
        useful=stored.useful or (middle is not None and middle.reached > 0),
        interrupted=solution.interrupted or seen.interrupted or _cut(middle, "interrupted"),
        timed_out=solution.timed_out or _cut(middle, "timed_out"),
    )


def _cut(middle: MiddleChange | None, how: str) -> bool:
    return middle is not None and bool(getattr(middle, how))


def _notes(
    middle: MiddleChange | None,
    stored: StoredChange,
    seen: Run,
    request: EditRequest,
    before: TextScore,
) -> list[str]:
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
    if middle is not None:
        notes.append(
            f"Layer {middle.layer} has values that give all answers of {middle.reached:,} of "
            f"{middle.subjects:,} subjects. Of that layer nothing is proved."
        )
    if middle is not None and middle.trials:
        best = next(trial for trial in middle.trials if trial.layer == middle.layer)
        notes.append(
            f"In a trial of {best.facts:,} facts alone {best.understood:.0%} of wordings held out were "
            "recalled there; of many facts it is less."
        )
    if stored.solution.interrupted or _cut(middle, "interrupted"):
        notes.append("Interrupted: this is the best by then.")
    elif stored.solution.timed_out or _cut(middle, "timed_out"):
        notes.append("Out of time: this is the best by then.")
    if seen.interrupted:
        notes.append("The edited model was not run to the end: it was interrupted.")
    return notes
