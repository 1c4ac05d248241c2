"""AssociativeMemory: a linear map that recalls an output for an input, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from simonides import archives, arguments
from simonides.certificate import Claim
from simonides.memory import files
from simonides.memory.budget import is_mapped
from simonides.memory.diagnosis import diagnose
from simonides.memory.facts import Facts, numbers_of, unit_rows
from simonides.memory.files import Saved
from simonides.memory.incremental import cleared, with_added, without
from simonides.memory.inputs import checked_inputs
from simonides.memory.noise import noisy_recall
from simonides.memory.packing import packed, unpacked
from simonides.memory.progress_bar import facts_bar
from simonides.memory.recipe import Recipe, seed_of
from simonides.memory.scoring import Scorer
from simonides.memory.shortfall import NotAllStoredWarning, shortfall
from simonides.memory.storing import store
from simonides.memory.torch_bridge import to_layers, weights_of
from simonides.problems import checked
from simonides.problems.contradictions import clashing, empty

if TYPE_CHECKING:
    from pathlib import Path

    from simonides.arrays import Integers, Reals
    from simonides.memory.diagnosis import Diagnosis
    from simonides.memory.noise import NoisyRecall
    from simonides.memory.storing import Stored
    from simonides.problems.original import OriginalProblem


class AssociativeMemory(BaseEstimator):  # type: ignore[misc]
    """A matrix W that recalls, for an input x, the output y with the largest score y^T W x.

    ``fit(X, y)`` takes the target embedding of each row; equal rows of y are one output, which their
    inputs share. ``fit(X, outputs=E, targets=t)`` numbers the rows of E instead. ``predict`` returns the
    number of the recalled output, a row of ``outputs_``.

    ``method``: "feasibility" stores every fact if any weights do, and proves it if none do; "margin" with
    the largest normalised margin; "low_rank" in two factors of inner dimension ``rank``;
    "cross_entropy", "gradient" by training; "pseudo_inverse", "hebbian" by rule. With ``rank``, every
    method but "margin" returns two factors. A fact counts as stored if its target leads every rival by
    ``margin``, in units of the off-target scores' deviation, as in :func:`simonides.capacity`; any
    lead will do at zero. ``whiten`` solves in whitened coordinates, ``normalize_outputs`` scores against
    outputs of unit length. ``max_memory`` bounds what fitting may take, in bytes; ``random_state`` seeds
    what is drawn (None is seed 0); ``progress`` shows a bar.

    After fitting: ``weights_`` (dim_out, dim_in), ``factors_`` (two matrices, or None), ``outputs_``,
    ``inputs_`` and ``targets_`` (the facts), ``n_stored_``, ``failed_`` (the rows that are not stored),
    ``capacity_`` (theory for this shape), ``load_``, ``certificate_`` (if every fact is stored the proof
    that ``weights_`` recall all, else that no weights do, or None), ``n_iter_``. If some facts are not
    stored there is a :class:`~simonides.memory.shortfall.NotAllStoredWarning`.

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
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.method = method
        self.rank = rank
        self.margin = margin
        self.whiten = whiten
        self.normalize_outputs = normalize_outputs
        self.max_memory = max_memory
        self.random_state = random_state
        self.progress = progress

    def fit(
        self, X: Any, y: Any = None, *, outputs: Any = None, targets: Any = None
    ) -> AssociativeMemory:
        """Store the facts X -> y, or X -> outputs[targets]."""
        recipe = self._recipe()
        inputs = checked_inputs(X, self, to_store=True)
        facts = Facts.read(inputs, y, outputs, targets, normalize=recipe.normalize_outputs)
        return self._store(facts, recipe, like=X)

    def predict(self, X: Any) -> Integers:
        """Return the number of the output recalled for each input."""
        check_is_fitted(self)
        return self._scorer().best(self._inputs(X))

    def predict_topk(self, X: Any, k: int = 5) -> Integers:
        """Return the numbers of the ``k`` outputs with the largest scores, best first."""
        check_is_fitted(self)
        k = arguments.whole("k", k, remedy="pass how many outputs to list")
        if k > len(self.outputs_):
            raise arguments.refuse("k", k, f"at most {len(self.outputs_)}", "there are no more")
        return self._scorer().top(self._inputs(X), k)

    def decision_function(self, X: Any) -> Reals:
        """Return the score of every output for every input, shape (inputs, outputs)."""
        check_is_fitted(self)
        inputs = self._inputs(X)
        needed = 8 * len(inputs) * len(self.outputs_)
        if self.max_memory is not None and needed > self.max_memory:
            raise arguments.refuse(
                "max_memory",
                self.max_memory,
                f"at least {needed} bytes for all scores at once",
                "use predict or predict_topk, which go block by block",
            )
        return self._scorer().scores(np.asarray(inputs, dtype=np.float64))

    def score(self, X: Any, y: Any) -> float:
        """Return the fraction of inputs whose output is recalled.

        y holds embeddings, or numbers of outputs. An embedding that is not among the outputs is never
        recalled.
        """
        check_is_fitted(self)
        recalled = self.predict(X)
        wanted = numbers_of(y, self.outputs_)
        if len(wanted) != len(recalled):
            raise arguments.refuse(
                "y.shape", np.shape(y), f"with {len(recalled)} rows", "one per row of X"
            )
        return float(np.mean(recalled == wanted))

    def add(self, X: Any, y: Any = None, *, targets: Any = None) -> AssociativeMemory:
        """Store further facts beside those stored, starting from the weights as they are if a method can.

        ``y`` holds target embeddings, those that are new becoming outputs; ``targets`` numbers of outputs.
        """
        inputs, recipe = self._inputs(X, to_store=True), self._recipe()
        facts = with_added(self.facts_, inputs, y, targets, normalize=recipe.normalize_outputs)
        return self._store(facts, recipe, self.weights_)

    def forget(self, indices: Any) -> AssociativeMemory:
        """Store all facts but those at ``indices``, starting from weights that know nothing of these.

        The others close ranks: row numbers of facts change, numbers of outputs do not.
        """
        facts, gone = without(self.facts_, indices)
        return self._store(facts, self._recipe(), cleared(self.weights_, gone))

    def recall_under_noise(
        self, noise: Any = None, *, trials: int = 20, most_facts: int = 256
    ) -> NoisyRecall:
        """Return the fraction of facts recalled against Gaussian noise on the inputs, and its prediction.

        ``noise`` lists standard deviations per coordinate; see :mod:`simonides.memory.noise`.
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

        :func:`simonides.figures.memory.diagnosis` draws it.
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
        """Write the memory as ``.npz`` or ``.safetensors``; without facts it can only recall."""
        check_is_fitted(self)
        return files.write(path, packed(self, facts=facts))

    @classmethod
    def load(cls, path: str | Path) -> AssociativeMemory:
        """Read a memory that ``save`` wrote; nothing in the file is ever executed."""
        saved = files.read(path)
        try:
            return unpacked(saved, cls())
        except archives.UNREADABLE as error:
            raise files.refusal(path, error) from None

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
        arrays = {
            "outputs": checked.matrix("outputs", outputs, columns=len(weights)),
            "targets": np.zeros(0, dtype=np.int64),
            "failed": np.zeros(0, dtype=np.int64),
        }
        if factors is None:
            arrays["weights"] = weights
        else:
            arrays["left"], arrays["right"] = factors
        rank = None if factors is None else factors[0].shape[1]
        blank = cls(rank=rank)
        note = {
            "params": blank.get_params(),
            "dim_in": weights.shape[1],
            "n_iter": 0,
            "proof": None,
        }
        return unpacked(Saved(arrays, note), blank)

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
        return Facts(self.inputs_, self.outputs_, self.targets_)

    def problem(self) -> OriginalProblem:
        """Return what was to be stored, as ``simonides.verify`` takes it with ``certificate_``."""
        return self.facts_.problem(self.normalize_outputs)

    def _recipe(self) -> Recipe:
        return Recipe(
            self.method,
            self.rank,
            self.margin,
            self.whiten,
            self.normalize_outputs,
            self.max_memory,
            seed_of(self.random_state),
        )

    def _inputs(self, X: Any, *, to_store: bool = False) -> Any:
        """Return checked inputs, in the dimension and under the names that were fitted."""
        inputs = checked_inputs(X, self, to_store=to_store)
        validate_data(self, X, skip_check_array=True, reset=False)
        return inputs

    def _scorer(self) -> Scorer:
        outputs = unit_rows(self.outputs_) if self.normalize_outputs else self.outputs_
        return Scorer(self.weights_, self.factors_, outputs)

    def _store(
        self, facts: Facts, recipe: Recipe, start: Reals | None = None, *, like: Any = None
    ) -> AssociativeMemory:
        with facts_bar(len(facts.targets), shown=self.progress) as watch:
            found = store(facts, replace(recipe, watch=watch), start)
        if like is not None:  # only now: facts that are refused leave the memory as it was
            validate_data(self, like, skip_check_array=True, reset=True)
        self._keep(facts, found)
        if self.n_stored_ < len(facts.targets):
            known: tuple[Any, ...] = ()
            if not is_mapped(facts.inputs):  # a large file is not passed over once more for this
                known = clashing(facts.inputs, facts.targets), empty(facts.inputs)
            proof, stopped = self.certificate_, found.solution.interrupted
            said = shortfall(
                len(facts.targets),
                self.n_stored_,
                self.capacity_,
                self.method,
                *known,
                refuted=proof is not None and proof.claim is Claim.NOT_STORABLE,
                interrupted=stopped,
            )
            if stopped:
                said = f"interrupted: {said}"
            warnings.warn(NotAllStoredWarning(said), stacklevel=3)
        return self

    def _keep(self, facts: Facts, found: Stored) -> None:
        self.weights_ = found.solution.weights
        self.factors_ = found.solution.factors
        self.outputs_ = facts.outputs
        # A memory of its own: what the caller does to X later must not change the facts.
        mapped = is_mapped(facts.inputs)
        self.inputs_: Reals | None = facts.inputs if mapped else np.array(facts.inputs)
        self.targets_ = facts.targets
        self.failed_ = np.flatnonzero(~found.stored)
        self.n_stored_ = int(np.count_nonzero(found.stored))
        self.certificate_ = found.certificate
        self.capacity_ = found.capacity
        self.load_ = found.load
        self.n_iter_ = found.solution.steps

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags
