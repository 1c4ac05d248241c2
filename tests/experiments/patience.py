"""A method that waits: a sweep can be met in the middle of a task, however fast the machine."""

import os
import time
from pathlib import Path

WAITING_FACTS = 5
"""Tasks with so many facts wait; all others do not."""


def waiting(problem, *, folder):
    """Return Hebbian weights, but of waiting tasks only once there is a file ``go`` in the folder.

    Until then a file named after the process says that it is in the middle of a task.
    """
    here = Path(folder)
    if problem.facts == WAITING_FACTS:
        (here / f"process-{os.getpid()}").touch()
        while not (here / "go").exists():
            time.sleep(0.01)
    return problem.target_outputs.T @ problem.inputs
