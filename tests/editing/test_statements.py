"""Facts as CSV: what is read, and what is refused with the line it is about."""

import os

import pytest

from simonides import BadArgumentError
from simonides.editing.statements import Statement, given_statements, read_statements
from simonides.editing.token_facts import TokenFact, token_facts, without


class Letters:
    """A tokenizer of letters; 'th' is one token."""

    eos_token_id, eos_token = None, None

    def __call__(self, text, add_special_tokens=True):
        return {"input_ids": [ord(letter) for letter in text.replace("th", "θ")]}

    def decode(self, tokens):
        return "".join(map(chr, tokens))


def read(tmp_path, content, **options):
    path = tmp_path / "facts.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_statements(path, **options)


@pytest.mark.parametrize(
    "content",
    [
        "The sky is,blue\n",
        "prompt,answer\nThe sky is,blue\n",
        "Answer,note,Prompt\nblue,x,The sky is\n",
        "\ufeffprompt,answer\r\nThe sky is,blue\r\n\r\nThe sky is,blue\r\n",
    ],
)
def test_facts_are_read_with_a_header_or_without(tmp_path, content):
    (statement,) = read(tmp_path, content)
    assert (statement.prompt, statement.answer) == ("The sky is", "blue")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it holds none"),
        ("a,b\nc\n", "line 2 has 1 columns"),
        ("prompt,answer\nA, with a comma, is,Tarn\n", "line 2 has 4 columns, and the first has 2"),
        ("Question,Answer\nThe sky is,blue\n", "line 1 reads like a header"),
        ("a,b,c\n", "line 1 has 3 columns and no header"),
        ("a,b\n ,c\n", "line 2 has an empty prompt"),
        ("a,b\nc,\n", "line 2 has an empty answer"),
        (
            "a,b\nc,d\na,e\n",
            "lines 1 and 3 give one prompt two answers",
        ),
        (b"a,\xff\n", "utf-8"),
        (b"a,b\0\n", "zero byte"),
        ('a,"b\n', "line 1"),
        ("a," + "x" * 200_000, "line 1"),
    ],
)
def test_other_files_are_refused_with_the_line(tmp_path, content, reason):
    with pytest.raises(BadArgumentError, match=reason) as refusal:
        read(tmp_path, content)
    assert "\n" not in str(refusal.value)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "facts.csv")
    with pytest.raises(BadArgumentError, match="it is a pipe"):
        read_statements(tmp_path / "facts.csv")


def test_a_subject_is_a_part_of_its_prompt(tmp_path):
    (statement,) = read(tmp_path, "subject,prompt,answer\nThe sky ,The sky is,blue\n")
    assert statement.subject == "The sky"
    assert given_statements([("The sky is", "blue", "sky")])[0].subject == "sky"
    with pytest.raises(
        BadArgumentError, match="line 2 has a subject that is no part of its prompt"
    ):
        read(tmp_path, "subject,prompt,answer\nThe sea,The sky is,blue\n")


def test_prompts_alone_are_enough_to_preserve(tmp_path):
    assert [s.prompt for s in read(tmp_path, "prompt\na\nb\n", need_answer=False)] == ["a", "b"]


@pytest.mark.parametrize(
    ("prompt", "answer", "text"), [("a", "b", "a b"), ("a ", "b", "a b"), ("a", " b", "a b")]
)
def test_one_space_stands_before_an_answer(prompt, answer, text):
    assert Statement(prompt, answer, 1).text == text


def test_each_token_is_a_fact_with_its_prefix():
    facts = token_facts(given_statements([("a", "bc")]), Letters(), 10)
    assert [(fact.prefix, fact.target) for fact in facts] == [
        ((97,), 32), ((97, 32), 98), ((97, 32, 98), 99),
    ]  # fmt: skip


def test_a_token_across_the_two_leaves_the_prompt_as_it_is_asked():
    facts = token_facts([Statement("a t", "h", 1), Statement("x t", "h", 2)], Letters(), 10)
    assert facts[0].prefix == tuple(map(ord, "a t"))


def test_the_same_tokens_go_on_one_way():
    statements = given_statements([("a", "bc"), ("a b", "d")])
    with pytest.raises(ValueError, match="lines 1 and 2 go on differently"):
        token_facts(statements, Letters(), 10)


def test_a_text_longer_than_the_model_reads_is_refused():
    with pytest.raises(ValueError, match="line 1 has 4 tokens, more than 3"):
        token_facts(given_statements([("a", "bc")]), Letters(), 3)


def test_what_is_to_change_cannot_be_preserved():
    fact, kept = TokenFact((1,), 2, (4,)), TokenFact((1,), 3, (7,))
    with pytest.raises(ValueError, match="line 7 preserves what line 4"):
        without([kept], [fact])
    assert without([TokenFact((1,), 2, (7,)), TokenFact((5,), 1, (8,))], [fact])[0].prefix == (5,)
