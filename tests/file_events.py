"""Every file event of a piece of work, one after another, is its last: a kill before it, or its failure.

Run as a program, with the folder to work in, it does so for each piece of work below and each way to end,
checks what was left of it at each event, and prints how many events the work has.
"""

import errno
import io
import os
import signal
import sys
import traceback
from pathlib import Path

import numpy as np

from simonides.certificate import Certificate, Claim
from simonides.experiments.expand import expand
from simonides.experiments.record import attempt, tables
from simonides.experiments.spec import Spec
from simonides.experiments.store import read, writing
from simonides.failures import BadArgumentError
from simonides.writing import leftovers, write_whole

CALLS = ("open", "fsync", "replace", "unlink", "mkdir", "ftruncate", "pwrite")
"""Of the system, that change a folder or a file or make a change last."""


class Events:
    """Counts file events, and at a given one does what ends the work."""

    def __init__(self, last, end):
        self.count, self._last, self._end = 0, last, end

    def happen(self):
        self.count += 1
        if self.count == self._last:
            self._end()

    def install(self):
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))
        plain = io.open

        def opened(path, mode="r", *options, **named):
            if "r" in mode:
                return plain(path, mode, *options, **named)
            self.happen()
            return io.BufferedWriter(Torn(self, path, mode.replace("b", "")))

        io.open = opened

    def _counted(self, call):
        def counted(*arguments, **options):
            self.happen()
            return call(*arguments, **options)

        return counted


class Torn(io.FileIO):
    """A file whose last write is half of one."""

    def __init__(self, events, path, mode):
        super().__init__(path, mode)
        self._events = events

    def write(self, content):
        half = len(content) // 2
        super().write(bytes(content[:half]))
        self._events.happen()
        super().write(bytes(content[half:]))
        return len(content)


class Replaced:
    """A file takes another's place: there is always one of them, whole."""

    def __init__(self):
        self.old, self.new = b"old" * 10_000, b"new" * 20_000

    def prepare(self, folder):
        (folder / "file").write_bytes(self.old)

    def work(self, folder):
        write_whole(folder / "file", self.new)

    def check(self, folder):
        assert (folder / "file").read_bytes() in (self.old, self.new)
        strange = {path.name for path in folder.iterdir()} - {"file"}
        assert strange == {path.name for path in leftovers(folder)}
        self.work(folder)
        assert (folder / "file").read_bytes() == self.new


class Proof:
    """A proof is saved over another: it loads, and is one of the two."""

    def __init__(self):
        self.proofs = [
            Certificate(Claim.STORABLE, fingerprint="0" * 64, weights=np.full((3, 3), value))
            for value in (1.0, 2.0)
        ]

    def prepare(self, folder):
        self.proofs[0].save(folder / "proof.npz")

    def work(self, folder):
        self.proofs[1].save(folder / "proof.npz")

    def check(self, folder):
        assert Certificate.load(folder / "proof.npz").weights[0, 0] in (1.0, 2.0)
        self.work(folder)
        assert Certificate.load(folder / "proof.npz").weights[0, 0] == 2.0


class Sweep:
    """A sweep keeps its batches and joins them: what it kept stays, and running again completes it."""

    def __init__(self):
        spec = {"problem": "original", "dims": [4], "facts": [3], "instances": 2, "seed": 0}
        self.tasks = expand(Spec.of({**spec, "solvers": ["hebbian"]}))
        self.records = [attempt(task) for task in self.tasks]

    def prepare(self, folder):
        pass

    def work(self, folder):
        with writing(folder / "run", self.tasks) as store:
            for record in self.records:
                if record.task.id not in store.statuses:
                    store.land([record])
                    (folder / f"landed-{record.task.id}").mkdir()
            store.compact()

    def check(self, folder):
        kept = {path.name.removeprefix("landed-") for path in folder.glob("landed-*")}
        if (folder / "run" / "run.json").exists():
            contents = read(folder / "run", "rows")
            assert contents.damaged == 0
            assert kept <= set(contents.table["id"].to_pylist())
        else:
            assert not kept
        self.work(folder)
        for kind, table in zip(("rows", "arrays"), tables(self.records), strict=True):
            contents = read(folder / "run", kind)
            assert contents.damaged == 0
            assert contents.table.equals(table)
            assert (
                len(list((folder / "run" / kind).iterdir())) == 1
            )  # joined, and nothing left over


WORKS = {"replaced": (Replaced, "EIO"), "proof": (Proof, "ENOSPC"), "sweep": (Sweep, "ENOSPC")}
"""Each is killed, and its calls fail with an error."""


def end_by(how):
    """Return what ends the work: the kill of its process, or a failure of the system."""
    if how == "kill":
        return lambda: os.kill(os.getpid(), signal.SIGKILL)

    def fail():
        raise OSError(getattr(errno, how), os.strerror(getattr(errno, how)))

    return fail


def run_to(work, folder, last, how):
    """Run the work in a process of its own up to an event; return how many it had, or None if it ended."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        events, code = Events(last, end_by(how)), 1
        events.install()
        try:
            work.work(folder)
            code = 0
        except (OSError, BadArgumentError):  # what a command says in one line
            code = 0
        except Exception:  # noqa: BLE001 (the child must end here, whatever it met)
            traceback.print_exc()
        finally:
            os.write(sender, str(events.count).encode())
            os._exit(code)
    os.close(sender)
    with open(receiver, "rb") as pipe:
        count = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    assert os.WEXITSTATUS(status) == 0, f"event {last} ended in {os.WEXITSTATUS(status)}"
    return int(count)


def events_of(work, root, how):
    """Run the work to each of its events, with a check after each; return how many it has."""
    last = 0
    while True:
        last += 1
        folder = root / str(last)
        folder.mkdir(parents=True)
        work.prepare(folder)
        count = run_to(work, folder, last, how)
        work.check(folder)
        if count is not None and count < last:
            return count


if __name__ == "__main__":
    for name, (work, error) in WORKS.items():
        for how in ("kill", error):
            print(name, how, events_of(work(), Path(sys.argv[1]) / name / how, how))
