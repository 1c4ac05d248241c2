"""One contender on one problem, in a process of its own: time, verdict, recall and peak memory.

Reads a JSON object from standard input and writes one to standard output. Compilation and imports are
done before the clock starts; drawing the problem is not counted either.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from simonides import DecoupledProblem, OriginalProblem, decide
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.rules.hebbian import hebbian
from simonides.solvers.rules.pseudo_inverse import pseudo_inverse
from simonides.solvers.solution import Progress, Solution
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import gradient

_STEPS = 5000
_PROBES, _PROBE_STEPS = 5, 20
_SHORT, _REPEATS = 2.0, 5
"""What takes fewer seconds than that is done so often, on the problem drawn anew; the median counts."""


def ours(problem: Any, _request: dict[str, Any]) -> dict[str, Any]:
    """Decide and prove it; the time includes the verifier's."""
    decision = decide(problem)
    return {
        "verdict": str(decision.verdict),
        "accuracy": decision.solution.recalled / problem.facts,
        "steps": decision.solution.steps,
    }


def search(problem: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Search for factors of a given rank."""
    return _trained(problem, low_rank(problem, request["rank"]))


def converged(problem: Any, _request: dict[str, Any]) -> dict[str, Any]:
    """Minimise the cross-entropy to convergence."""
    return _trained(problem, cross_entropy(problem))


def adam(problem: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Follow the paper's protocol in PyTorch, with as many threads as suit it best.

    It is given up when the time limit, if there is one, has passed; its steps say how far it came.
    """
    limit = request.get("limit")

    def watch(progress: Progress) -> None:
        if limit is not None and progress.seconds > limit:
            raise KeyboardInterrupt

    solution = gradient(problem, backend="torch", max_steps=_STEPS, watch=watch)
    answer = {**_trained(problem, solution), "threads": request["threads"]}
    if solution.steps < _STEPS and solution.recalled < problem.facts:
        answer["verdict"] = "given up"
    return answer


def linear_program(problem: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Ask HiGHS for the largest margin of weights with entries up to one."""
    from scipy.optimize import linprog

    rows = np.concatenate(
        [
            ((problem.target_outputs[i] - problem.competitors(i)[1])[:, :, None] * x).reshape(
                -1, problem.dim_in * problem.dim_out
            )
            for i, x in enumerate(problem.inputs)
        ]
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    count = rows.shape[1]
    began = time.perf_counter()
    optimum = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=np.hstack((-rows, np.ones((len(rows), 1)))),
        b_ub=np.zeros(len(rows)),
        bounds=[(-1, 1)] * count + [(None, 1)],
        method=request["method"],
    )
    seconds = time.perf_counter() - began
    if optimum.status != 0:
        return {"verdict": f"failed: {optimum.message}", "seconds": seconds}
    verdict = "storable" if -optimum.fun > 1e-9 else "not-storable"
    recall = problem.recall(problem.inputs @ optimum.x[:-1].reshape(problem.dim_out, -1).T)
    return {"verdict": verdict, "accuracy": recall.recalled / problem.facts, "seconds": seconds}


CONTENDERS: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {
    "simonides": ours,
    "low-rank": search,
    "cross-entropy": converged,
    "adam (torch)": adam,
    "highs-ds": linear_program,
    "highs-ipm": linear_program,
    "hebbian": lambda problem, _: _trained(problem, hebbian(problem)),
    "pseudo-inverse": lambda problem, _: _trained(problem, pseudo_inverse(problem)),
}


def _trained(problem: Any, solution: Solution) -> dict[str, Any]:
    return {
        "verdict": "storable" if solution.recalled == problem.facts else "none",
        "accuracy": solution.recalled / problem.facts,
        "loss": solution.loss,
        "steps": solution.steps,
    }


def _torch_threads(problem: Any) -> int:
    """Return the number of threads, up to the cores at hand, at which PyTorch steps fastest.

    Numbers take turns, so that what else the machine does meets them alike.
    """
    import torch

    times: dict[int, list[float]] = {n + 1: [] for n in range(torch.get_num_threads())}
    for _ in range(_PROBES):
        for threads, seen in times.items():
            torch.set_num_threads(threads)
            began = time.perf_counter()
            gradient(problem, backend="torch", max_steps=_PROBE_STEPS)
            seen.append(time.perf_counter() - began)
    best = min(times, key=lambda threads: min(times[threads]))
    torch.set_num_threads(best)
    return best


def _timed(request: dict[str, Any], problem: Any) -> dict[str, Any]:
    began = time.perf_counter()
    answer = CONTENDERS[request["contender"]](problem, request)
    answer.setdefault("seconds", time.perf_counter() - began)
    return answer


def _peak_megabytes() -> float:
    """Return this process's own peak; what getrusage tells may be that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main() -> None:
    """Run the contender that standard input asks for."""
    request = json.load(sys.stdin)
    kind: type[OriginalProblem | DecoupledProblem] = (
        OriginalProblem if request["problem"] == "original" else DecoupledProblem
    )
    warm = kind.gaussian(60, 10, seed=0)
    for facts in (20, 60):
        decide(warm.prefix(facts), threads=1)
    cross_entropy(warm, threads=1)
    low_rank(warm, 5, max_steps=3, threads=1)

    def draw() -> Any:
        return kind.gaussian(request["facts"], request["dim"], seed=request["seed"])

    if request["contender"] == "adam (torch)":
        request["threads"] = _torch_threads(draw())
    if request["contender"].startswith("highs"):
        request["method"] = request["contender"]
    answers = [_timed(request, draw())]
    while answers[0]["seconds"] < _SHORT and len(answers) < _REPEATS:
        answers.append(_timed(request, draw()))
    answer = {**answers[0], "seconds": statistics.median(repeat["seconds"] for repeat in answers)}
    answer["peak_mb"] = _peak_megabytes()
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
