"""The store: batches that are there or not, damage that is seen, folders that are not ours."""

import json
import os
import subprocess
import sys
from functools import partial

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sweeping import fingerprint

from simonides.experiments.expand import expand
from simonides.experiments.record import ARRAYS, ROWS, Record, TaskStatus, attempt, tables
from simonides.experiments.spec import Spec
from simonides.experiments.store import read, shards, write_shard, writing
from simonides.experiments.sweep import arrays, export, rows, run, status
from simonides.failures import BadArgumentError
from simonides.writing import leftovers, replacing

GONE = 2**22 + 1
"""A number that no process has: beyond the largest that Linux gives."""

SPEC = Spec.of(
    {
        "problem": "original",
        "dims": [5],
        "facts": [4, 6],
        "solvers": ["hebbian"],
        "instances": 3,
        "seed": 0,
    }
)
TASKS = expand(SPEC)


@pytest.fixture
def records():
    return [attempt(task) for task in TASKS]


@pytest.fixture
def kept(tmp_path, records):
    """A folder with three batches, of which readers must make one table."""
    with writing(tmp_path / "run", TASKS) as store:
        for batch in (records[4:], records[:2], records[2:4]):
            store.land(batch)
    return tmp_path / "run"


def test_what_lands_is_read_in_the_order_of_the_spec(kept, records):
    expected_rows, expected_arrays = tables(records)
    assert rows(kept).equals(expected_rows)
    assert arrays(kept).equals(expected_arrays)
    assert (status(kept).done, status(kept).left) == (6, 0)


def test_a_batch_counts_as_soon_as_it_landed_and_readers_need_no_lock(tmp_path, records):
    with writing(tmp_path, TASKS) as store:
        assert (status(tmp_path).done, status(tmp_path).left) == (0, 6)
        store.land(records[:1])
        assert rows(tmp_path)["id"].to_pylist() == [next(iter(TASKS)).id]
        assert status(tmp_path).left == 5


def test_compacting_keeps_everything_in_one_file(kept, records):
    before = rows(kept), arrays(kept)
    with writing(kept, TASKS) as store:
        store.compact()
        assert len(list((kept / "rows").iterdir())) == 1
        assert len(list((kept / "arrays").iterdir())) == 1
        store.compact()
    assert (rows(kept), arrays(kept)) == before


def test_compacting_cut_short_leaves_the_same_table(kept):
    before = rows(kept), arrays(kept)
    old = {path: path.read_bytes() for path in kept.rglob("*.parquet")}
    with writing(kept, TASKS) as store:
        store.compact()
    for path, content in old.items():  # as if it had been killed before removing these
        path.write_bytes(content)
    assert (rows(kept), arrays(kept)) == before
    with writing(kept, TASKS) as store:
        assert len(store.statuses) == 6
        assert store.quarantined == []


def test_of_several_records_of_a_task_the_latest_counts(tmp_path, records):
    failed = Record(next(iter(TASKS)), TaskStatus.FAILED, 0.1, "no luck")
    with writing(tmp_path, TASKS) as store:
        store.land([failed])
        assert status(tmp_path).reasons == ("1 x failed: no luck",)
        store.land(records[:1])
        assert status(tmp_path).failed == 0
        store.compact()
    assert rows(tmp_path)["status"].to_pylist() == ["done"]


def test_leftovers_of_killed_writers_are_removed(kept, records):
    rows_before = rows(kept)
    arrays_table = tables(records)[1]
    orphan = write_shard(kept / "arrays", 77, arrays_table)  # killed before its rows
    for folder in (kept, kept / "rows", kept / "arrays"):
        (folder / f".simonides-{GONE}-{0:024x}.part").write_bytes(b"half a fi")
    assert rows(kept).equals(rows_before)
    with writing(kept, TASKS) as store:
        assert len(store.statuses) == 6
        store.land(records[:1])
    assert not orphan.path.exists()
    assert not list(kept.rglob("*.part"))
    assert max(shard.number for shard in shards(kept / "rows")) == 78


def test_a_run_killed_while_it_began_its_folder_goes_on(tmp_path):
    (tmp_path / "lock").touch()
    (tmp_path / f".simonides-{GONE}-{0:024x}.part").write_bytes(b"{")
    with writing(tmp_path, TASKS):
        assert status(tmp_path).total == 6


def test_a_file_that_another_program_is_writing_stays(kept):
    with replacing(kept / "proof.npz") as file:
        with writing(kept, TASKS):
            pass
        file.write(b"proof")
    assert (kept / "proof.npz").read_bytes() == b"proof"


def test_files_of_the_user_stay_whatever_they_are_called(kept, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("downloads")
    precious = [kept / "film.part", kept / "rows" / "film.part", elsewhere / "film.part"]
    for path in precious:
        path.write_bytes(b"mine")
    (kept / "rows" / "more").symlink_to(elsewhere)
    with writing(kept, TASKS):
        pass
    assert [path.read_bytes() for path in precious] == [b"mine"] * 3


SHARD = f"00000007-{'a' * 32}.parquet"
"""A name that a shard may have, but not its digest."""


@pytest.mark.parametrize(
    "name", [f"rows/{SHARD}", f"arrays/{SHARD}", "rows/film", "quarantine/film"]
)
def test_a_folder_that_no_sweep_began_is_not_taken_for_one(tmp_path, name):
    place = tmp_path / name
    place.parent.mkdir()
    place.write_bytes(b"mine")
    with pytest.raises(BadArgumentError, match=f"without '{name}'"):
        run(SPEC, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [place]
    assert place.read_bytes() == b"mine"


@pytest.mark.parametrize("kind", ["rows", "arrays"])
def test_a_file_of_others_under_a_shard_s_name_is_not_removed(kept, kind):
    (kept / kind / SHARD).write_bytes(b"mine")
    with writing(kept, TASKS) as store:
        aside = kept / "quarantine" / f"{kind}-{SHARD}"
        assert store.quarantined == [aside]
        assert len(store.statuses) == 6
    assert aside.read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["rows", "arrays"])
def test_a_folder_behind_a_link_is_somebody_else_s(tmp_path, tmp_path_factory, name):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    mine = [elsewhere / "film.part", elsewhere / f".simonides-{GONE}-{1:024x}.part"]
    for path in mine:
        path.write_bytes(b"mine")
    (tmp_path / name).symlink_to(elsewhere)
    with pytest.raises(BadArgumentError, match="a folder, not a link"):
        run(SPEC, tmp_path)
    assert sorted(elsewhere.iterdir()) == sorted(mine)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("kind", ["link", "dangling", "text", "pipe", "folder"])
def test_a_lock_that_no_sweep_made_is_left_as_it_is(tmp_path, tmp_path_factory, kind):
    letter = tmp_path_factory.mktemp("letters") / "letter"
    if kind != "dangling":
        letter.write_text("dear reader")
    lock = tmp_path / "lock"
    if kind in ("link", "dangling"):
        lock.symlink_to(letter)
    elif kind == "text":
        lock.write_text("dear reader")
    elif kind == "pipe":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    with pytest.raises(BadArgumentError, match="'lock' that no sweep made"):
        run(SPEC, tmp_path)
    assert letter.exists() is (kind != "dangling")
    assert kind == "dangling" or letter.read_text() == "dear reader"
    assert kind != "text" or lock.read_text() == "dear reader"


@pytest.mark.parametrize("kind", ["rows", "arrays"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "lose"])
def test_a_damaged_batch_is_set_aside_and_missing(kept, kind, damage):
    shard = shards(kept / kind)[1]
    content = bytearray(shard.path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    elif damage == "truncate":
        del content[-10:]
    else:
        content.clear()
    shard.path.write_bytes(content)
    if damage == "lose":
        shard.path.unlink()
    else:
        with pytest.warns(UserWarning, match="1 damaged files .* left out"):
            assert read_again(kept, kind).num_rows == 4
        assert status(kept).damaged == (kind == "rows")
    with writing(kept, TASKS) as store:
        assert len(store.statuses) == 4
        assert len(store.quarantined) == (0 if (damage, kind) == ("lose", "rows") else
                                          1 if damage == "lose" else 2)  # fmt: skip
    if damage != "lose":
        aside = kept / "quarantine" / f"{kind}-{shard.path.name}"
        assert aside.read_bytes() == bytes(content)
    assert status(kept).left == 2


def read_again(folder, kind):
    return {"rows": rows, "arrays": arrays}[kind](folder)


@pytest.mark.slow
def test_a_damaged_batch_is_measured_again(tmp_path):
    out = tmp_path / "run"
    run(SPEC, out, workers=1)
    before = rows(out).drop_columns(["seconds", "solver_seconds"])
    next((out / "rows").iterdir()).write_bytes(b"PAR1 of what was")
    with pytest.warns(UserWarning, match=r"2 damaged files were moved to .*quarantine"):
        assert run(SPEC, out, workers=1).done == 6
    assert rows(out).drop_columns(["seconds", "solver_seconds"]).equals(before)


def change_header(folder, **changes):
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_run_of_another_version_is_read_but_not_added_to(kept):
    before = rows(kept)
    change_header(kept, version="0.0.9")
    there = fingerprint(kept)
    with (
        pytest.raises(BadArgumentError, match=r"not 0\.0\.9: start a new folder"),
        writing(kept, TASKS),
    ):
        pass
    assert rows(kept).equals(before)
    assert {**fingerprint(kept), "lock": ""} == {**there, "lock": ""}


def test_a_run_of_another_format_is_left_alone(kept):
    change_header(kept, version="9.0", format=99, spec={"unheard": "of"})
    there = fingerprint(kept)
    for use in (rows, arrays, status, lambda out: run(SPEC, out, workers=1)):
        with pytest.raises(BadArgumentError, match=r"format 1, not 99: simonides 9\.0 wrote it"):
            use(kept)
    assert {**fingerprint(kept), "lock": ""} == {**there, "lock": ""}


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"\xff", b'{"format": 1, "version": "0.1.0"}']
)
def test_a_damaged_header_is_said_and_the_results_survive_its_removal(kept, content):
    before = rows(kept)
    (kept / "run.json").write_bytes(content)
    with pytest.raises(BadArgumentError, match=r"a readable run\.json: .* results are kept"):
        rows(kept)
    (kept / "run.json").unlink()
    with writing(kept, TASKS) as store:
        assert len(store.statuses) == 6
    assert rows(kept).equals(before)


def test_folders_of_something_else_are_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("")
    for out, said in ((tmp_path, "thesis.tex|file"), (tmp_path / "file", "a folder")):
        with pytest.raises(BadArgumentError, match=said), writing(out, TASKS):
            pass
    for use in (rows, arrays, status):
        with pytest.raises(BadArgumentError, match="the folder of a sweep"):
            use(tmp_path)
        with pytest.raises(BadArgumentError, match="the folder of a sweep"):
            use(tmp_path / "nowhere")
    assert not (tmp_path / "lock").exists()


def test_another_spec_in_the_same_folder_measures_only_what_is_new(kept, records):
    more = Spec.of({**SPEC.mapping(), "instances": 4})
    with writing(kept, expand(more)) as store:
        assert len(set(store.statuses) & {task.id for task in expand(more)}) == 6
    assert status(kept).left == 2
    fewer = Spec.of({**SPEC.mapping(), "instances": 1})
    with writing(kept, expand(fewer)):
        pass
    assert rows(kept)["instance"].to_pylist() == [0, 0]
    with writing(kept, TASKS):
        pass
    assert rows(kept).equals(tables(records)[0])  # nothing was thrown away


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_export_holds_the_rows(kept, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    assert export(kept, path) == 6
    frame = (pd.read_parquet if ending == "parquet" else partial(pd.read_csv, engine="pyarrow"))(
        path
    )
    assert list(frame.columns) == ROWS.names
    expected = rows(kept)
    for name in ("id", "facts", "accuracy", "problem_seed", "rival_std"):
        assert frame[name].tolist() == expected[name].to_pylist()
    if ending == "parquet":
        metadata = pq.read_schema(path).metadata
        assert Spec.of(json.loads(metadata[b"spec"])) == SPEC


def test_an_export_to_nowhere_is_refused(kept, tmp_path):
    for name, said in (("rows.xlsx", "ending in"), ("no/rows.csv", "folder that exists")):
        with pytest.raises(BadArgumentError, match=said):
            export(kept, tmp_path / name)


def test_the_documented_one_liners_open_a_run(kept):
    assert len(pd.read_parquet(kept / "rows")) == 6
    mean = duckdb.sql(f"SELECT avg(accuracy) FROM '{kept}/rows/*.parquet'").fetchall()[0][0]
    assert mean == pytest.approx(sum(rows(kept)["accuracy"].to_pylist()) / 6)


_KILLED_WHILE_WRITING = """
import os, sys
from pathlib import Path
from simonides.writing import write_whole
os.fsync = lambda _handle: os.kill(os.getpid(), 9)
write_whole(Path(sys.argv[1]), b"half of it")
"""


def test_the_one_liners_pass_over_what_a_killed_writer_left(kept):
    target = kept / "rows" / "00000009-half.parquet"
    done = subprocess.run([sys.executable, "-c", _KILLED_WHILE_WRITING, target], check=False)
    assert done.returncode == -9
    (left,) = leftovers(kept / "rows")
    assert left.read_bytes() == b"half of it"
    assert len(pd.read_parquet(kept / "rows")) == 6
    mean = duckdb.sql(f"SELECT count(*) FROM '{kept}/rows/*.parquet'").fetchall()
    assert mean == [(6,)]


def test_arrays_are_the_schema_s(kept):
    assert read(kept, "arrays").table.schema.equals(ARRAYS)
