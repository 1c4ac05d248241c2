"""AssociativeMemory: a linear map that recalls an output for an input, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from simonides import arguments
from simonides.certificate import Claim
from simonides.interrupts import Keyboard, completed
from simonides.memory import files
from simonides.memory.budget import is_mapped
from simonides.memory.diagnosis import diagnose
from simonides.memory.facts import Facts, checked_inputs, cleared
from simonides.memory.noise import noisy_recall
from simonides.memory.recalling import LinearRecall
from simonides.memory.recipe import Recipe, seed_of
from simonides.memory.shortfall import NotAllStoredWarning, shortfall
from simonides.memory.storing import Storing
from simonides.memory.torch_bridge import to_layers, weights_of
from simonides.problems import checked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from simonides.arrays import Reals
    from simonides.memory.diagnosis import Diagnosis
    from simonides.memory.noise import NoisyRecall
    from simonides.memory.storing import Stored
    from simonides.problems.original import OriginalProblem


class AssociativeMemory(LinearRecall):
    r"""A matrix that recalls, for an input, the output with the largest score.

    .. math:: \hat y(x) = \arg\max_j \, y_j^T W x

    A fact is stored if its target wins (eq. 1), by ``margin`` if there is one.

    Parameters
    ----------
    method : str
        A name of :data:`simonides.solvers.methods.METHODS`: "feasibility" stores every fact if any weights
        do, and proves it if none do; "margin" with the largest normalised margin; "low_rank" in two
        factors; "cross_entropy" and "gradient" by training; "pseudo_inverse" and "hebbian" by rule. Or a
        function of yours, ``"module:function"``, that returns the weights of a problem.
    rank : int, optional
        Inner dimension of two factors, which every method but "margin" then returns.
    margin : float
        Lead over every rival that counts as stored, in units of the off-target scores' deviation, as in
        :func:`simonides.capacity`. Any lead will do at zero.
    whiten : bool
        Solve in whitened coordinates.
    normalize_outputs : bool
        Score against outputs of unit length.
    max_memory : int, optional
        Bytes by which fitting may make the process grow beside the facts given. What would take more is
        refused before the search begins, or not looked at, which the warning says.
    time_limit : float, optional
        Seconds after which the search ends with the best weights by then, which the warning says. Rules,
        and methods of yours that do not take it, end when they end.
    loss : str, optional
        What "gradient" trains on, or yours as ``"module:Class"``. Default: the cross-entropy.
    random_state : int, Generator or RandomState, optional
        Seed of what is drawn; None is seed 0.
    progress : bool
        Show a bar.

    Attributes
    ----------
    weights_ : array (dim_out, dim_in)
        The matrix W.
    factors_ : tuple of two arrays, or None
        Left and right, of which W is left times right transposed.
    outputs_, inputs_, targets_ : array
        The facts: distinct outputs, inputs, and the number of each input's output.
    classes_ : array or None
        The label of each output: as given, or else its number; None if equal rows of y became one output.
    n_stored_ : int
        How many facts are stored.
    failed_ : array
        Rows of those that are not.
    certificate_ : Certificate or None
        If every fact is stored the proof that ``weights_`` recall all, else that no weights do.
    capacity_, load_ : Capacity, float
        Theory for this shape and random vectors, and how much of it the facts ask for.
    n_iter_ : int
        Steps of the search.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((2, 60, 20))
    >>> memory = AssociativeMemory().fit(X, Y)
    >>> memory.score(X, Y), memory.predict(X[:3]).tolist()
    (1.0, [0, 1, 2])
    """

    def __init__(
        self,
        method: str = "feasibility",
        *,
        rank: int | None = None,
        margin: float = 0.0,
        whiten: bool = False,
        normalize_outputs: bool = False,
        max_memory: int | None = None,
        time_limit: float | None = None,
        loss: str | None = None,
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.method = method
        self.rank = rank
        self.margin = margin
        self.whiten = whiten
        self.normalize_outputs = normalize_outputs
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.loss = loss
        self.random_state = random_state
        self.progress = progress

    def fit(
        self, X: Any, y: Any = None, *, outputs: Any = None, targets: Any = None
    ) -> AssociativeMemory:
        """Store facts.

        Interrupted, it keeps the best weights by then, or those that the search starts from, and raises.

        Parameters
        ----------
        X : array (facts, dim_in)
            An input a row. A memory-mapped file stays one.
        y : array (facts, dim_out) or (facts,), optional
            The target embedding of each row; equal rows are one output, which their inputs share. Or the
            label of each row, numbers or text: outputs are then the unit vectors, in the labels' order.
        outputs : array (candidates, dim_out), optional
            All outputs: beside text labels those of the labels in order; else beside ``targets``.
        targets : array of int (facts,), optional
            The row of ``outputs`` that belongs to each input.

        Returns
        -------
        AssociativeMemory
            Itself.

        Raises
        ------
        BadArgumentError
            For options or arrays that make no facts; the memory stays as it was.
        KeyboardInterrupt
            If it was interrupted; the message says what is stored.

        Warns
        -----
        NotAllStoredWarning
            If some facts are not stored.
        """
        recipe = self._recipe()

        def read() -> Facts:
            inputs = checked_inputs(X, self, to_store=True)
            return Facts.read(inputs, y, outputs, targets, normalize=recipe.normalize_outputs)

        return self._store(read, recipe, like=X)

    def add(self, X: Any, y: Any = None, *, targets: Any = None) -> AssociativeMemory:
        """Store further facts beside those stored, from the weights as they are if the method can.

        It returns itself, and raises what :meth:`fit` does.

        Parameters
        ----------
        X : array (new facts, dim_in)
            An input a row.
        y : array (new facts, dim_out) or (new facts,), optional
            Target embeddings, of which new ones become outputs; or labels among ``classes_``.
        targets : array of int (new facts,), optional
            Numbers of outputs that there are, instead.
        """
        inputs, recipe = self._inputs(X, to_store=True), self._recipe()
        facts = self.facts_.with_added(inputs, y, targets, normalize=recipe.normalize_outputs)
        return self._store(lambda: facts, recipe, self.weights_)

    def forget(self, indices: Any) -> AssociativeMemory:
        """Store all facts but some, from weights that know nothing of these.

        It returns itself, and raises what :meth:`fit` does.

        Parameters
        ----------
        indices : array of int
            Rows of facts. The others close ranks: their numbers change, those of outputs do not.
        """
        facts, gone = self.facts_.without(indices)
        return self._store(lambda: facts, self._recipe(), cleared(self.weights_, gone))

    def recall_under_noise(
        self, noise: Any = None, *, trials: int = 20, most_facts: int = 256
    ) -> NoisyRecall:
        """Return the fraction of facts recalled against Gaussian noise on the inputs, and its prediction.

        Parameters
        ----------
        noise : array, optional
            Standard deviations per coordinate; nine by default, up to that of the inputs themselves.
        trials : int
            How often noise is drawn.
        most_facts : int
            Look at so many facts at most, spread over all.

        Returns
        -------
        NoisyRecall
            Curves, with the equations in :mod:`simonides.memory.noise`.
        """
        facts, rng = self.facts_, np.random.default_rng(seed_of(self.random_state))
        return noisy_recall(
            self._scorer(),
            facts.inputs,
            facts.targets,
            noise,
            trials=trials,
            most_facts=most_facts,
            rng=rng,
        )

    def diagnose(self) -> Diagnosis:
        """Return scores, leads, singular values and load beside theory's.

        Returns
        -------
        Diagnosis
            Printed, it is one line; :func:`simonides.figures.memory.diagnosis` draws it.
        """
        facts = self.facts_
        return diagnose(
            self._scorer(),
            facts.inputs,
            facts.targets,
            stored=self.n_stored_,
            load=self.load_,
            capacity=self.capacity_,
        )

    def save(self, path: str | Path, *, facts: bool = True) -> Path:
        """Write the memory to a file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Ending in ``.npz`` or ``.safetensors``.
        facts : bool
            Without them it can only recall.

        Returns
        -------
        Path
            The file.
        """
        check_is_fitted(self)
        return files.write(path, files.packed(self, facts=facts))

    @classmethod
    def load(cls, path: str | Path) -> AssociativeMemory:
        """Read a memory that ``save`` wrote; nothing in the file is ever executed.

        Raises
        ------
        BadArgumentError
            If the file is no such memory; the message says why.
        """
        saved = files.read(path)
        with files.expecting_memory(path):
            return files.unpacked(saved, cls())

    def to_torch(self) -> Any:
        """Return the map as ``nn.Linear`` without bias, two of them in a row for factors."""
        check_is_fitted(self)
        return to_layers(self.weights_, self.factors_)

    @classmethod
    def from_linear(cls, layer: Any, outputs: Any = None) -> AssociativeMemory:
        """Return the memory that a linear layer (or two in a row) is, with no facts of its own.

        Outputs default to the unit vectors: scores are then what the layer puts out.
        """
        weights, factors = weights_of(layer)
        outputs = np.eye(len(weights)) if outputs is None else outputs
        outputs = checked.matrix("outputs", outputs, columns=len(weights))
        blank = cls(rank=None if factors is None else factors[0].shape[1])
        nothing = np.zeros(0, dtype=np.int64)
        arrays = {"outputs": outputs, "targets": nothing, "failed": nothing}
        note = {"params": {}, "dim_in": weights.shape[1], "n_iter": 0, "proof": None}
        note["classes"] = list(range(len(outputs)))
        return files.unpacked(files.Saved(arrays | files.layers(weights, factors), note), blank)

    @property
    def facts_(self) -> Facts:
        """The facts that the memory was asked to store."""
        check_is_fitted(self)
        if self.inputs_ is None:
            remedy = "save it with facts=True, or fit it again"
            if not len(self.targets_):  # as from_linear makes it
                remedy = (
                    "a layer comes without facts; fit a memory on them, with this one's outputs_"
                )
            raise arguments.refuse("inputs_", None, "kept with the memory", remedy)
        return Facts(self.inputs_, self.outputs_, self.targets_, self.classes_)

    def problem(self) -> OriginalProblem:
        """Return what was to be stored, as ``simonides.verify`` takes it with ``certificate_``."""
        return self.facts_.problem(self.normalize_outputs)

    def _recipe(self) -> Recipe:
        options = self.get_params()
        checked.truth("progress", options.pop("progress"))
        return Recipe(seed=seed_of(options.pop("random_state")), **options)

    def _store(
        self, read: Callable[[], Facts], recipe: Recipe, start: Any = None, like: Any = None
    ) -> AssociativeMemory:
        facts, early = completed(read)
        storing = Storing(facts, recipe, start)
        with Keyboard() as keyboard:
            if not early:
                storing.search(progress=self.progress)
            self._keep(facts, storing.outcome(), like)
        if keyboard.interrupted:  # another interrupt, from here on, is the end
            self._keep(facts, storing.outcome(), like)
        interrupted = early or keyboard.interrupted or storing.interrupted
        message = self._shortfall(recipe, storing, interrupted=interrupted)
        if interrupted:
            message = message or "all facts are stored"
            raise KeyboardInterrupt(f"the memory holds the best weights by then: {message}")
        if message:
            warnings.warn(NotAllStoredWarning(message), stacklevel=3)
        return self

    def _keep(self, facts: Facts, outcome: Stored, like: Any) -> None:
        if like is not None:  # only now: facts that are refused leave the memory as it was
            validate_data(self, like, skip_check_array=True, reset=True)
        self.weights_, self.factors_ = outcome.solution.weights, outcome.solution.factors
        # A memory of its own: what the caller does to X later must not change the facts.
        mapped = is_mapped(facts.inputs)
        self.inputs_: Reals | None = facts.inputs if mapped else np.array(facts.inputs)
        self.outputs_, self.targets_, self.classes_ = facts.outputs, facts.targets, facts.classes
        self.failed_ = np.flatnonzero(~outcome.stored)
        self.n_stored_ = int(np.count_nonzero(outcome.stored))
        self.certificate_ = outcome.certificate
        self.capacity_, self.load_ = outcome.capacity, outcome.load
        self.n_iter_ = outcome.solution.steps

    def _shortfall(self, recipe: Recipe, storing: Storing, *, interrupted: bool) -> str:
        """Return what is to be said of facts that are not stored, or nothing."""
        facts, proof = self.facts_, self.certificate_
        if self.n_stored_ == len(facts.targets):
            return ""
        return shortfall(
            len(facts.targets),
            self.n_stored_,
            self.capacity_,
            *facts.hopeless(),
            strict=recipe.solver.strict,
            refuted=proof is not None and proof.claim is Claim.NOT_STORABLE,
            interrupted=interrupted,
            timed_out=storing.timed_out,
            short_of_memory=storing.short_of_memory,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags
