"""Print the oldest versions that the package allows of what it runs on, as constraints for pip."""

import tomllib
from pathlib import Path

USED = ("dask", "hf")
"""Extras whose versions the package promises; those of tests and docs are its own tools."""


def constraints(project):
    """Return an equality for every lower bound.

    >>> constraints({"dependencies": ["numpy>=2.0"], "optional-dependencies": {"dask": [], "hf": []}})
    ['numpy==2.0']
    """
    extras = project["optional-dependencies"]
    bounds = [*project["dependencies"], *(bound for name in USED for bound in extras[name])]
    return [bound.replace(">=", "==").replace("[distributed]", "") for bound in bounds]


if __name__ == "__main__":
    content = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    print(*constraints(tomllib.loads(content)["project"]), sep="\n")
