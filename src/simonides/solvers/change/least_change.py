r"""The least change of a matrix that stores facts, between two bounds.

A matrix is in use, and fact :math:`i` has the image :math:`b_i` already. Wanted is the change
:math:`\Delta` that disturbs least and puts every image at a distance :math:`\gamma_i` or more inside its
target's cell:

.. math:: \min_\Delta \tfrac12 \operatorname{tr} \Delta C \Delta^T \quad\text{subject to}\quad
          (y_i - y_j)^T (b_i + \Delta x_i) \ge \gamma_i |y_i - y_j| \quad\text{for all } i, j .

With :math:`C` the second moments of ordinary inputs, the length of the change, the root of
:math:`\operatorname{tr} \Delta C \Delta^T`, is the root mean square by which it moves their images. Of all
constraints a few per fact matter: those looked at are solved by the augmented Lagrangian and Newton's
method, and each step ends with a pass over all rivals that brings in what it broke. Multipliers
:math:`\lambda \ge 0` bound the length of every such change from below,

.. math:: \frac{\sum \lambda_{ij} (\gamma_i |y_i - y_j| - (y_i - y_j)^T b_i)}
          {\bigl| \sum \lambda_{ij} (y_i - y_j) x_i^T C^{-1/2} \bigr|_F} ,

so that there is a gap to end at; without bound they prove that no change will do. They hold for a change
of bounded rank as well, which is longer: there the gap need not close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.problems import checked
from simonides.problems.problem import sharing
from simonides.solvers.change.bounded_rank import BoundedRank
from simonides.solvers.change.constraints import MovingFacts
from simonides.solvers.change.metric import Metric
from simonides.solvers.change.search import LeastChange
from simonides.solvers.driver import Limits, drive
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress, Solution


def least_change(
    problem: Problem,
    offsets: Any = None,
    metric: Any = None,
    margin: Any = 1.0,
    *,
    rank: int | None = None,
    gap: float = 0.01,
    max_steps: int = 400,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    r"""Store facts in a matrix that is in use by changing it as little as possible.

    Parameters
    ----------
    problem : Problem
        The facts; their inputs share the candidates.
    offsets : array (facts, dim_out), optional
        What each input's image is without the change. Default: zero.
    metric : array (dim_in, dim_in), optional
        The positive definite matrix C that weighs the change, such as the second moments of ordinary
        inputs plus a small multiple of the identity. Default: the identity.
    margin : float or array (facts,)
        Distance at which each image must lie inside its target's cell, in the unit of images.
    rank : int, optional
        Largest rank of the change. The problem is then not convex: the change is the shortest that is
        found, ``change_lower`` is still that of any rank, and the gap need not close.
    gap : float
        Relative gap between the bounds on the length of the change at which to end.
    max_steps : int
        Most Newton steps to take.
    time_limit : float, optional
        Seconds after which the best so far is returned. So it is when interrupted.
    threads : int, optional
        Threads to use.
    watch : callable, optional
        Called with the :class:`Progress` of every step.

    Returns
    -------
    Solution
        ``weights`` is the change and ``change`` its length; no change with these margins is shorter than
        ``change_lower``, which ``multipliers`` prove. Recall is that of offset and change together.
        ``stored`` if every margin is kept, ``stopped`` if it ended before, even if all are recalled.
        With a rank, ``stopped`` also where none of this rank is found, which proves nothing; ``factors``
        are two whose product the change is.
        ``infeasible`` if no change is found to be possible: ``certificate`` is the proof of ``decide``,
        and where targets have an equal among the outputs ``multipliers.facts`` names all such facts.

    Raises
    ------
    BadArgumentError
        For margins that are not positive, arrays of other shapes, a metric that is not positive definite,
        a rank that no matrix of this shape has, or a problem whose inputs do not share their candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from simonides import OriginalProblem
    >>> problem = OriginalProblem.gaussian(20, 12, seed=0)
    >>> images = np.random.default_rng(1).standard_normal((20, 12))
    >>> solution = least_change(problem, images, margin=0.1)
    >>> solution.recalled, solution.change <= 1.01 * solution.change_lower
    (20, True)
    """
    shared = sharing(problem)
    if shared is None:
        remedy = "pass an OriginalProblem"
        raise arguments.refuse("problem", str(problem), "one of shared candidates", remedy)
    rank = None if rank is None else checked.rank(rank, shared)
    gap = arguments.fraction("gap", gap, remedy="pass a relative gap such as 0.01")
    limits = Limits(max_steps, time_limit)
    margins = _margins(margin, shared.facts)
    images = np.zeros((shared.facts, shared.dim_out))
    if offsets is not None:
        images = checked.matrix("offsets", offsets, columns=shared.dim_out)
        if len(images) != shared.facts:
            shape = f"with {shared.facts} rows"
            raise arguments.refuse("offsets.shape", images.shape, shape, "one row per fact")
    weighed = Metric.of(metric, shared.dim_in)
    with crew(threads) as each:
        white, basis = weighed.whitened(shared.inputs), None
        if rank is not None and shared.facts < shared.dim_in:  # the change is in the inputs' span
            basis = np.linalg.qr(white.T)[0]
            white = white @ basis
        facts = MovingFacts.of(shared, white, images, margins, each)
        deadline = arguments.deadline(time_limit)
        solver = LeastChange(facts, images, margins, weighed, gap, deadline, threads)
        if rank is not None:
            return drive(BoundedRank(solver, rank, basis), limits, watch)
        return drive(solver, limits, watch)


def _margins(margin: Any, facts: int) -> Reals:
    values = np.asarray(margin, dtype=np.float64)
    if values.shape not in ((), (facts,)):
        raise arguments.refuse("margin.shape", values.shape, f"() or ({facts},)", "one per fact")
    for value in values.ravel():
        arguments.between(
            "margin", value, 0, checked.LONGEST, remedy="pass the distance that images must keep"
        )
    return np.broadcast_to(values, (facts,)).copy()
