"""Statements as a language model meets them: a prefix of tokens and the token that is to follow it.

An answer of several tokens is several facts, each with the tokens before it as its prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simonides.editing.statements import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from simonides.editing.statements import Statement


@dataclass(frozen=True)
class TokenFact:
    """Tokens, the token that is to follow, and the lines of the statements it is of."""

    prefix: tuple[int, ...]
    target: int
    lines: tuple[int, ...]


def token_facts(statements: Iterable[Statement], tokenizer: Any, longest: int) -> list[TokenFact]:
    """Return one fact per token of each answer; what occurs twice counts once.

    Raises ``ValueError`` for an answer without tokens, a text of more than ``longest`` tokens, and for the
    same tokens with two ways to go on.
    """
    facts: dict[tuple[int, ...], TokenFact] = {}
    for statement in statements:
        prompt, answer = tokens(statement, tokenizer, longest)
        if not answer:
            raise ValueError(f"line {statement.line} has an answer without tokens")
        for place, target in enumerate(answer):
            prefix = (*prompt, *answer[:place])
            earlier = facts.get(prefix, TokenFact(prefix, target, ()))
            if earlier.target != target:
                raise ValueError(
                    f"lines {earlier.lines[0]} and {statement.line} go on differently after one text "
                    f"({shown(tokenizer.decode(prefix))})"
                )
            facts[prefix] = TokenFact(prefix, target, (*earlier.lines, statement.line))
    return list(facts.values())


def kept_facts(
    statements: Iterable[Statement],
    tokenizer: Any,
    longest: int,
    present: Callable[[list[tuple[int, ...]]], list[int]],
) -> list[TokenFact]:
    """Return facts that hold already: after each prompt, and each token of its answer, what now follows."""
    prefixes: dict[tuple[int, ...], int] = {}
    for statement in statements:
        prompt, answer = tokens(statement, tokenizer, longest)
        for place in range(max(len(answer), 1)):
            prefixes.setdefault((*prompt, *answer[:place]), statement.line)
    targets = present(list(prefixes))
    return [
        TokenFact(prefix, target, (line,))
        for (prefix, line), target in zip(prefixes.items(), targets, strict=True)
    ]


def without(kept: list[TokenFact], facts: list[TokenFact]) -> list[TokenFact]:
    """Return what is to be kept and is not stored anyway; raise ``ValueError`` where the two contradict."""
    targets = {fact.prefix: fact for fact in facts}
    for fact in kept:
        stored = targets.get(fact.prefix)
        if stored is not None and stored.target != fact.target:
            raise ValueError(
                f"line {fact.lines[0]} preserves what line {stored.lines[0]} of the facts is to change"
            )
    return [fact for fact in kept if fact.prefix not in targets]


def tokens(
    statement: Statement, tokenizer: Any, longest: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the prompt's tokens as the model is asked, and those that the answer adds to them."""
    prompt, whole = (tuple(opened(tokenizer, text)) for text in (statement.prompt, statement.text))
    if not prompt:
        raise ValueError(f"line {statement.line} has a prompt without tokens")
    answer = whole[len(prompt) :]
    if whole[: len(prompt)] != prompt:  # a token crosses from one to the other
        answer = tuple(tokenizer(statement.continuation, add_special_tokens=False)["input_ids"])
    unknown: Any = getattr(tokenizer, "unk_token_id", None)
    opening = opened(tokenizer, "").count(unknown)  # which some tokenizers begin every text with
    if (*prompt, *answer).count(unknown) > opening and str(
        tokenizer.unk_token
    ) not in statement.text:
        raise ValueError(f"line {statement.line} has what the model's tokenizer does not know")
    if len(prompt) + len(answer) > longest:
        count = len(prompt) + len(answer)
        raise ValueError(f"line {statement.line} has {count:,} tokens, more than {longest:,}")
    return prompt, answer


def opened(tokenizer: Any, text: str) -> list[int]:
    """Return a text's tokens with what the tokenizer puts before it, and without what it puts after."""
    tokens = list(tokenizer(text)["input_ids"])
    end = getattr(tokenizer, "eos_token_id", None)
    while tokens and tokens[-1] == end and not text.endswith(str(tokenizer.eos_token)):
        tokens.pop()
    return tokens
