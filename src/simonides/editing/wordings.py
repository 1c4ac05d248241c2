"""Wordings of facts: the tokens of each, where its subject ends, and the answer that is to follow.

What a language model knows of a subject it gathers at the subject's last token, whatever is asked of it and
in whatever words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simonides.editing.token_facts import opened, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.editing.statements import Statement

_CONTEXTS = ("It is well known.", "As I said before, this is what you asked about.")
"""What stands before a wording to make another of it, where a fact has only one."""


@dataclass(frozen=True)
class Wording:
    """One way to ask for a fact.

    ``subject`` is the number of its subject, ``place`` that of the subject's last token in the prompt, and
    ``answer`` what is to follow.
    """

    subject: int
    prompt: tuple[int, ...]
    place: int
    answer: tuple[int, ...]

    @property
    def read(self) -> tuple[int, ...]:
        """The tokens after which a token of the answer follows, all of them."""
        return (*self.prompt, *self.answer[:-1])


def wordings(statements: Sequence[Statement], tokenizer: Any, longest: int) -> list[Wording]:
    """Return the wordings that statements with a subject are; subjects are numbered as they come."""
    numbers: dict[str, int] = {}
    ways = []
    for statement in statements:
        prompt, answer = tokens(statement, tokenizer, longest)
        subject = numbers.setdefault(statement.subject, len(numbers))
        ways.append(Wording(subject, prompt, _place(statement, prompt, tokenizer), answer))
    return ways


def in_context(statement: Statement, number: int) -> Statement:
    """Return a statement with a sentence before it."""
    context = _CONTEXTS[number % len(_CONTEXTS)]
    return replace(statement, prompt=f"{context} {statement.prompt}")


def _place(statement: Statement, prompt: tuple[int, ...], tokenizer: Any) -> int:
    """Return the place of the token in which the subject ends where it stands last."""
    end = statement.prompt.rindex(statement.subject) + len(statement.subject)
    before = opened(tokenizer, statement.prompt[:end])
    common = 0
    while common < min(len(before), len(prompt)) and before[common] == prompt[common]:
        common += 1
    # Where the next letters are of the same token, that is the first which differs.
    return min(common - (common == len(before)), len(prompt) - 1)
