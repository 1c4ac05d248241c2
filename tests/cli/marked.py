"""An ensemble that leaves a file behind in the folder where a process draws from it."""

import os
from pathlib import Path


def gaussian(rng, facts, dim_in, dim_out, candidates):
    Path(f"at-work-{os.getpid()}").touch()
    of_keys, of_values = rng.spawn(2)
    keys = of_keys.standard_normal((facts, dim_in))
    return keys, of_values.standard_normal((candidates, dim_out))
