"""Folders and files that somebody else made: one refusal, no hang, nothing obeyed."""

import json
import os
from itertools import islice

import pandas as pd
import pyarrow as pa
import pytest

from simonides.cli.sweep import status as print_status
from simonides.experiments.expand import expand
from simonides.experiments.record import ROWS, Record, TaskStatus, tables
from simonides.experiments.spec import Spec, read_spec
from simonides.experiments.store import shards, write_shard, writing
from simonides.experiments.sweep import arrays, export, rows, run, status
from simonides.experiments.task import Task
from simonides.failures import BadArgumentError

KEYS = {
    "problem": "original",
    "dims": [5],
    "facts": [4, 6],
    "solvers": ["hebbian"],
    "instances": 3,
    "seed": 0,
}
SPEC = Spec.of(KEYS)
TASKS = expand(SPEC)
REASON = "=HYPERLINK(1) [/x] \x1b[2J \u202e :boom:"


@pytest.fixture
def kept(tmp_path):
    """A folder whose tasks failed, for a reason that is not ours to print as it is."""
    with writing(tmp_path / "run", TASKS) as store:
        store.land([Record(task, TaskStatus.FAILED, 0.1, REASON) for task in TASKS])
    return tmp_path / "run"


DEEP = "[" * 1500 + "]" * 1500
SPECS = {
    "deep": f"problem = {DEEP}\n",
    "endless": f"seed = {'9' * 5000}\n",
    "boxed": "problem = [[]]\n",
    "nothing": "",
    "tables": "[problem]\n[[solvers]]\nname = []\n",
    "dotted": ".".join("a" * 1500) + " = 1\n",
}


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_of_a_strange_shape_is_refused(tmp_path, name):
    path = tmp_path / "spec.toml"
    good = {key: json.dumps(value) for key, value in KEYS.items() if key not in SPECS[name]}
    path.write_text("".join(f"{key} = {value}\n" for key, value in good.items()) + SPECS[name])
    if name == "nothing":
        assert read_spec(path) == SPEC
        return
    with pytest.raises(BadArgumentError, match=r"spec\.toml"):
        read_spec(path)


@pytest.mark.parametrize("value", [[[]], {}, [{}], None, 10**4000, [True], ["os:system"], "\x1b"])
@pytest.mark.parametrize("key", [*KEYS, "ensemble", "candidates", "loads", "rank_fractions"])
def test_values_of_any_kind_are_refused_or_taken(key, value):
    refusal = None
    try:
        spec = Spec.of({**KEYS, key: value})
    except BadArgumentError as error:
        refusal = str(error)
    # A refusal names the key; what is taken can be written down and read again.
    assert key in refusal if refusal else Spec.of(spec.mapping()) == spec


HEADERS = {
    "deep": DEEP,
    "list": "[]",
    "number": "7",
    "specless": '{"format": 1, "version": "0.1.0", "spec": 3}',
    "boxed": '{"format": 1, "version": "0.1.0", "spec": {"problem": [[]]}}',
    "endless": '{"format": 1, "version": ' + "9" * 5000 + "}",
    "facts": json.dumps({"format": 1, "version": "0.1.0", "spec": KEYS, "facts": [3, "x"]}),
}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("use", [rows, arrays, status, lambda out: run(SPEC, out, workers=1)])
def test_a_header_of_a_strange_shape_is_refused(kept, name, use):
    (kept / "run.json").write_text(HEADERS[name])
    with pytest.raises(BadArgumentError, match=r"a readable run\.json: .*results are kept"):
        use(kept)


def test_a_header_that_is_a_pipe_is_not_waited_for(kept):
    (kept / "run.json").unlink()
    os.mkfifo(kept / "run.json")
    with pytest.raises(BadArgumentError, match="it is a pipe"):
        status(kept)


def test_shards_of_another_schema_and_pipes_among_them_are_passed_over(kept):
    whole = rows(kept)
    write_shard(kept / "rows", 5, pa.table({"id": [1, 2]}))
    write_shard(kept / "rows", 6, whole.set_column(0, "id", pa.nulls(6, pa.string())))
    strange = whole.set_column(whole.schema.get_field_index("status"), "status", [["odd"] * 6])
    write_shard(kept / "rows", 7, strange)
    os.mkfifo(kept / "rows" / f"{8:08d}-{0:032x}.parquet")
    assert (status(kept).failed, status(kept).damaged) == (6, 3)
    with pytest.warns(UserWarning, match="3 damaged"):
        assert rows(kept).equals(whole)
    with writing(kept, TASKS) as store:
        assert len(store.quarantined) == 3
        assert len(store.statuses) == 6


def test_columns_that_we_do_not_know_are_left_out(kept):
    whole = rows(kept)
    (shard,) = shards(kept / "rows")
    shard.path.unlink()
    write_shard(kept / "rows", shard.number, whole.append_column("more", [["x"] * 6]))
    assert rows(kept).schema.equals(ROWS)


def test_a_reason_is_printed_and_not_obeyed(kept, capsys):
    print_status(str(kept))
    shown = capsys.readouterr().out
    assert r"[/x] \x1b[2J \u202e :boom:" in " ".join(shown.split())
    assert "\x1b" not in shown
    print_status(str(kept), as_json=True)
    text = capsys.readouterr().out
    assert text.replace("\n", "").isprintable()
    assert json.loads(text)["reasons"] == [f"6 x failed: {REASON}"]


def test_a_spreadsheet_shows_a_reason_and_does_not_compute_it(kept, tmp_path):
    export(kept, tmp_path / "rows.csv")
    assert set(pd.read_csv(tmp_path / "rows.csv")["reason"]) == {f"'{REASON}"}
    export(kept, tmp_path / "rows.parquet")
    assert set(pd.read_parquet(tmp_path / "rows.parquet")["reason"]) == {REASON}


def test_a_link_that_the_user_names_is_written_through(kept, tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.csv")
    export(kept, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 6


def test_a_sweep_of_any_length_begins_at_once(tmp_path, monkeypatch):
    """Only what is measured is made: tasks are counted, not listed."""
    made = []
    plain = Task.__init__

    def counted(task, *values, **more):
        made.append(task)
        plain(task, *values, **more)

    monkeypatch.setattr(Task, "__init__", counted)
    endless = Spec.of({**KEYS, "instances": 10**6})
    run(endless, tmp_path / "run", workers=1, time_limit=0)
    assert status(tmp_path / "run").left == 2 * 10**6 == expand(endless).total
    assert len(list(islice(expand(endless).largest_first(), 5))) == 5
    assert len(made) < 50
    assert (tmp_path / "run" / "run.json").stat().st_size < 1000
    many = Spec.of({**KEYS, "facts": list(range(2, 60_002))})
    assert expand(many).total == 3 * 60_000


def test_rows_are_found_again_in_the_order_of_the_spec(tmp_path):
    keys = {
        **KEYS,
        "dims": [6, 5],
        "relative_loads": [1.5, 0.5],
        "solvers": ["hebbian", "threshold"],
    }
    spec = Spec.of({key: value for key, value in keys.items() if key != "facts"})
    tasks = expand(spec)
    records = [Record(task, TaskStatus.FAILED, 0.1, "no luck") for task in tasks]
    with writing(tmp_path, tasks) as store:
        store.land(records[::-1])
    assert rows(tmp_path).equals(tables(records)[0])
    # What loads came to is written down: another theory reads the same rows.
    header = json.loads((tmp_path / "run.json").read_text())
    header["facts"][0][0] += 1
    (tmp_path / "run.json").write_text(json.dumps(header))
    assert rows(tmp_path).num_rows == len(records) - 3


def test_more_combinations_than_anyone_reads_are_refused():
    with pytest.raises(BadArgumentError, match="at most 1,000,000 combinations, not 2,000,000"):
        Spec.of({**KEYS, "dims": list(range(1, 1001)), "facts": list(range(1, 2001))})


def test_where_no_process_can_start_that_is_said_and_nothing_lost(kept):
    with pytest.raises(ChildProcessError, match="3 worker processes in a row ended before"):
        run(SPEC, kept, workers=1, memory_limit=10**6, retry_failed=True)
    assert status(kept).failed == 6
