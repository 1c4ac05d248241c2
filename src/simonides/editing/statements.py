"""What is to be stored, as people write it: a CSV file of prompts and answers.

A header that names the columns ``prompt`` and ``answer`` may stand first, in any order and with others
beside them; without one there are exactly two columns. The answer goes on from the prompt after one
space, unless one of the two has a space there already.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simonides import arguments
from simonides.reading import expecting, read_bytes
from simonides.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_MOST_BYTES = 2**26
"""Of a file: a million facts of a line each."""

_LONGEST_CELL = 100_000
"""Characters of a prompt: more than a small model's context, and far below what slows a tokenizer."""

_SHOWN = 40
"""Characters of a prompt that a refusal quotes."""

_HEADERS = {"prompt", "question", "query", "input", "text", "instruction", "subject"} | {
    "answer", "target", "output", "completion", "response", "label", "object"
}  # fmt: skip
"""Names that columns of facts go by: a first line with one of them is a header, and not a fact."""

_AGAIN = (
    "mend the file: commas separate columns, and quotation marks stand around text that holds one"
)


@dataclass(frozen=True)
class Statement:
    """A prompt, the answer it is to have (empty: whatever it has now), and the line it came from.

    Attributes
    ----------
    prompt, answer, subject : str
        As they were written; the subject is a part of the prompt, and may be empty.
    line : int
        Of the file, or the place in a list, from one on.
    """

    prompt: str
    answer: str
    line: int
    subject: str = ""

    @property
    def text(self) -> str:
        """Prompt and answer, joined.

        >>> Statement("The capital of France is", "Paris", 1).text
        'The capital of France is Paris'
        """
        return self.prompt + self.continuation

    @property
    def continuation(self) -> str:
        """The answer with the space before it that the prompt lacks."""
        spaced = not self.answer or self.prompt[-1].isspace() or self.answer[0].isspace()
        return self.answer if spaced else f" {self.answer}"


def read_statements(
    path: str | Path, name: str = "facts", *, need_answer: bool = True
) -> list[Statement]:
    """Return the statements of a CSV file; without ``need_answer`` a column of prompts is enough."""
    columns = "prompt and answer" if need_answer else "prompt"
    with expecting(name, path, f"a CSV file in UTF-8 of the columns {columns}", _AGAIN):
        text = read_bytes(path, most=_MOST_BYTES).decode("utf-8-sig")
        return checked(list(_rows(text, need_answer)))


def given_statements(
    pairs: Iterable[Any], name: str = "facts", *, need_answer: bool = True
) -> list[Statement]:
    """Return pairs of prompt and answer as statements."""
    statements = []
    for line, pair in enumerate(pairs, start=1):
        if len(pair) not in (2, 3) or not all(isinstance(part, str) for part in pair):
            condition = "a prompt and an answer, and perhaps the subject"
            raise arguments.refuse(name, pair, condition, "pass pairs of texts")
        statements.append(_statement(*pair, line=line, need_answer=need_answer))
    return checked(statements)


def checked(statements: list[Statement]) -> list[Statement]:
    """Return statements, each once; raise ``ValueError`` if there are none or two contradict each other."""
    if not statements:
        raise ValueError("it holds none")
    answers: dict[str, Statement] = {}
    for statement in statements:
        earlier = answers.setdefault(statement.prompt, statement)
        if earlier.answer != statement.answer:
            raise ValueError(
                f"lines {earlier.line} and {statement.line} give one prompt two answers, "
                f"{shown(earlier.answer)} and {shown(statement.answer)}"
            )
    return list(answers.values())


def shown(text: str) -> str:
    """Return a stranger's text, short enough for a message."""
    return repr(printable(text, _SHOWN))


def _rows(text: str, need_answer: bool) -> Iterator[Statement]:
    if "\0" in text:
        raise ValueError("it holds a zero byte")
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    places: tuple[int, int | None, int | None] | None = None
    line, columns = 1, 0
    try:
        for row in rows:
            begins, line = line, rows.line_num + 1
            if not row:
                continue
            if places is None:
                names, columns = [cell.strip().lower() for cell in row], len(row)
                if "prompt" in names and ("answer" in names or not need_answer):
                    places = (
                        names.index("prompt"),
                        _place(names, "answer"),
                        _place(names, "subject"),
                    )
                    continue
                if not _HEADERS.isdisjoint(names):
                    raise ValueError(f"line {begins} reads like a header, but does not name them")
                if len(row) != 2 and (need_answer or len(row) != 1):
                    raise ValueError(
                        f"line {begins} has {len(row)} columns and no header names them"
                    )
                places = 0, 1 if len(row) == 2 else None, None
            prompt, answer, subject = places
            if len(row) != columns:
                raise ValueError(
                    f"line {begins} has {len(row)} columns, and the first has {columns}"
                )
            cells = ("" if place is None else row[place] for place in (prompt, answer, subject))
            yield _statement(*cells, line=begins, need_answer=need_answer)
    except csv.Error as error:
        raise ValueError(f"line {line}: {error}") from None


def _place(names: list[str], name: str) -> int | None:
    return names.index(name) if name in names else None


def _statement(
    prompt: str, answer: str, subject: str = "", *, line: int, need_answer: bool
) -> Statement:
    for word, cell, needed in (
        ("prompt", prompt, True), ("answer", answer, need_answer), ("subject", subject, False)
    ):  # fmt: skip
        if needed and not cell.strip():
            raise ValueError(f"line {line} has an empty {word}")
        if len(cell) > _LONGEST_CELL:
            raise ValueError(f"line {line} has a {word} of {len(cell):,} characters")
    if subject.strip() not in prompt:
        raise ValueError(f"line {line} has a subject that is no part of its prompt")
    return Statement(prompt, answer, line, subject.strip())
