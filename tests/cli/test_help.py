"""Every command explains itself, and its example runs."""

import json
import os
import re
import shlex
from itertools import chain
from pathlib import Path

import pytest
import typer
from program import documented, run

from simonides.cli.app import app


def names(group, before=""):
    """Return the commands of a group, those of groups inside it too, as they are typed."""
    commands = []
    for name, command in group.commands.items():
        typed = f"{before}{name}"
        commands += names(command, f"{typed} ") if hasattr(command, "commands") else [typed]
    return commands


COMMANDS = names(typer.main.get_command(app))
EXAMPLES = Path(__file__).parents[2] / "examples"

FOLLOWERS = {
    "decide": ["verify"],
    "sweep run": ["sweep status", "sweep export"],
    "edit": ["undo"],
}
"""Their examples read what the example of the one writes."""

SHARED = {"reproduce", "sweep run", "threshold"}
"""Would start processes, which takes longer than what they share."""

FIRST = [name for name in COMMANDS if name not in {*chain.from_iterable(FOLLOWERS.values())}]


def example(command: str) -> list[str]:
    done = run(*command.split(), "--help")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    shown = re.search(rf"Example: simonides ({command} .*?) (Options|Arguments):", text)
    assert shown, text
    return shlex.split(shown[1])


def test_all_commands_are_seen():
    assert {"capacity", "decide", "threshold", "train"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_json(command):
    assert " ".join(example(command)).startswith(command)
    assert "--json" in run(*command.split(), "--help").stdout


def test_help_lists_the_ensembles_that_there_are():
    from simonides.problems.ensembles import TARGETS
    from simonides.problems.vectors import VECTORS

    shown = " ".join(run("threshold", "--help").stdout.split())
    assert f"{', '.join(VECTORS)}; with '+' a law of the targets: {', '.join(TARGETS)};" in shown


def place_a_model(folder):
    """Put a small model, by the name of a large one, and facts into a folder."""
    from tiny_model import pairs, saved

    saved(folder / "SmolLM2-135M")
    facts = "".join(f"{prompt},{answer}\n" for prompt, answer in pairs(5))
    (folder / "facts.csv").write_text(facts)


@pytest.mark.slow
@pytest.mark.parametrize("command", FIRST)
def test_the_example_runs(command, tmp_path):
    # The sweep that ships with the project, made short.
    whole = (EXAMPLES / "accuracy.toml").read_text()
    short = whole.replace("[25, 50]", "[8]").replace("instances = 3", "instances = 1")
    assert short != whole
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "accuracy.toml").write_text(short)
    if command == "edit":
        place_a_model(tmp_path)
    for name in (command, *FOLLOWERS.get(command, [])):
        words = shlex.join(example(name)).replace("--instances 20", "--instances 2")
        alone = ["--workers", "1"] if name in SHARED else []
        done = run(*shlex.split(words), *alone, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)


@pytest.mark.parametrize("group", [[], ["signal"], ["sweep"]], ids=" ".join)
def test_a_group_alone_prints_its_help(group):
    done = run(*group)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run(*group, "--help").stdout
    assert done.stdout.count("\n") > 5


def test_a_shell_completes_commands_and_options():
    words = {"COMP_WORDS": "simonides cap", "COMP_CWORD": "1"}
    environment = {**os.environ, "_SIMONIDES_COMPLETE": "complete_bash"}
    assert run(env=environment | words).stdout == "capacity\n"
    words = {"COMP_WORDS": "simonides capacity --tail", "COMP_CWORD": "2"}
    assert run(env=environment | words).stdout == "--tail-fraction\n"
    script = run(env={**os.environ, "_SIMONIDES_COMPLETE": "source_bash"})
    assert "complete -o default -F" in script.stdout


def test_no_codes_of_any_kind_where_colour_is_unwanted():
    environment = {**os.environ, "FORCE_COLOR": "1", "NO_COLOR": ""}
    assert "\x1b[" in run("capacity", "--dim", "10", env=environment).stdout
    plain = run("capacity", "--dim", "10", env=environment | {"NO_COLOR": "1"})
    assert "\x1b[" not in plain.stdout


def test_a_narrow_terminal_loses_no_number():
    done = run("plan", "gpt2", env={**os.environ, "COLUMNS": "40"})
    assert "…" not in done.stdout
    wide = run("plan", "gpt2", env={**os.environ, "COLUMNS": "200"})
    tables = [part.stdout.split("Held means")[0].replace("─", "") for part in (done, wide)]
    assert sorted("".join(tables[0].split())) == sorted("".join(tables[1].split()))


@pytest.mark.parametrize(("curve", "number"), [("price", "189,496,177"), ("scores", "-4.0463")])
def test_numbers_in_the_first_column_are_whole_on_a_narrow_screen(curve, number):
    shown = run("theory", curve, env={**os.environ, "COLUMNS": "40"}).stdout
    assert re.search(rf"^ +{number} ", shown, re.MULTILINE)


@pytest.mark.parametrize(
    "command",
    [
        "capacity --dim 10",
        "require --facts 20 --dim 10",
        "decide --dim 5 --facts 4 --max-steps 9",
        "threshold --dim 4 --instances 1 --workers 1",
        "train --dim 5 --facts 4 --max-steps 9",
        "plan gpt2 --facts 10k --lora-rank 8",
        "theory price",
        "signal propagate --layers 2 --dim 8 --tokens 8",
        "signal recommend --layers 2 --dim 8 --tokens 8",
        "signal diagram --layers 2 --dim 8 --tokens 8 --x beta=1:2:2 --y skip=1:2:2",
    ],
)
def test_the_page_of_commands_lists_every_key_of_json(command):
    record = json.loads(run(*command.split(), "--json").stdout)
    assert set(record) <= documented(command.split()[0])
