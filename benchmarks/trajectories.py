"""Training trajectories to the last bit, to show that a redesign changes none of them.

``record FILE.npz`` trains some 130 pairs of solver and problem, each for a few passes on small
data, by ``taut.solve`` and the estimators: every solver, every kind of features, graphs with every
kind of inference, Python models, a problem of one's own, paths, text. Of each pair it keeps the
certificates on the way (all but the seconds), the final weights, the dual point with its losses,
and predictions. ``compare A.npz B.npz`` says of each pair whether all bits are equal, and if not,
how large the largest difference is (relative to the largest number of its array) and where the
first one is; exit code 1 if any pair differs, failed, or is missing in one of the files.

``--only TEXT ...`` takes the pairs whose names contain one of the texts, in both commands. A pair
that fails is reported, with its error, and the others go on; each is written to the file when it is
done, so that even a crash leaves the pairs before it.

Every pair is run twice in the process. The two must agree to the last bit; the first compiles (or
loads) machine code, the second is the time that training takes. CPU seconds, one thread, fixed
seeds. With ``TAUT_DATA`` set, OCR-small is among the pairs.

The tree to be recorded is the one that ``PYTHONPATH`` names. Therefore nothing here is imported
from ``common``, which knows the inside of one tree; what is imported of taut, a pair imports when
it runs.

    PYTHONPATH=../old/src TAUT_CACHE_DIR=../cache python benchmarks/trajectories.py record old.npz
    python benchmarks/trajectories.py record new.npz
    python benchmarks/trajectories.py compare old.npz new.npz
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy starts

import argparse
import importlib.util
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

Record = dict[str, np.ndarray]

# Of the certificates, those of the iterates; seconds are nobody's promise, scores are those of
# held-out data.
CERTIFICATE = ("passes", "oracle_calls", "primal", "dual", "gap", "soft_gap", "violation")
# Of the state at the end, whatever a solver has of it: the last weights (those returned may be
# earlier ones), losses, marginals, multipliers.
STATE = ("w", "ell", "mu", "node", "edge", "nu", "points.weight")
RUN = {"tol": 0.0, "seed": 0, "n_threads": 1, "progress": False}
ABOUT = "about"  # not a pair
FAILED = "failed"  # in the place of the arrays of a pair

# Functions without arguments that train and return what is kept.
PAIRS: dict[str, Callable[[], Record]] = {}


def pair(name: str) -> Callable[[Callable[[], Record]], Callable[[], Record]]:
    """Add a function to the pairs."""

    def add(function: Callable[[], Record]) -> Callable[[], Record]:
        assert name not in PAIRS
        PAIRS[name] = function
        return function

    return add


# --- what is kept ---------------------------------------------------------------------------------


def of_solution(solution: Any) -> Record:
    history = solution.history
    record = {f"history {name}": np.array(history[name]) for name in CERTIFICATE}
    if "iterate_primal" in history.dtype.names:  # older trees have no other columns than these
        primal, dual = (np.array(history[f"iterate_{name}"]) for name in ("primal", "dual"))
        values = {"primal": primal, "dual": dual, "gap": primal - dual}
        record |= {f"history {name}": array for name, array in values.items()}
    record["certificate"] = np.array([solution.primal, solution.dual, solution.passes])
    record["w"] = solution.w
    for name in STATE:
        value = solution.state
        for part in name.split("."):
            value = getattr(value, part, None)
        found = list(arrays_in(value))
        if found:
            record[f"last {name}"] = np.concatenate([array.ravel() for array in found])
    return record


def arrays_in(value: Any) -> Iterable[np.ndarray]:
    """All arrays of numbers in nested tuples."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays_in(part)


def flat(answers: Any) -> np.ndarray:
    """Predictions of all examples in one array."""
    if isinstance(answers, np.ndarray):
        return answers
    return np.concatenate([np.asarray(answer).ravel() for answer in answers])


def solved(problem: Any, solver: Any, to_label: Any = None, **options: Any) -> Record:
    """Train; then label the training examples of ``to_label``, where there is such a problem."""
    from taut import solve
    from taut.decode import decode

    solution = solve(problem, solver, **{"C": 0.02, "max_passes": 18, **RUN, **options})
    record = of_solution(solution)
    if to_label is not None:
        record["labels"] = decode(to_label, solution.w)
    return record


def fitted(
    estimator: Any,
    X: Any,
    y: Any,
    answers: dict[str, Callable[[Any], Any]] | None = None,
    **fit_options: Any,
) -> Record:
    """Fit and predict; ``answers`` are other questions to the fitted estimator."""
    estimator.set_params(tol=0.0, random_state=0, n_jobs=1, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nothing here is meant to converge
        estimator.fit(X, y, **fit_options)
    record = of_solution(estimator.solution_) | {"labels": flat(estimator.predict(X))}
    for name, answer in (answers or {}).items():
        record[name] = flat(answer(estimator))
    return record


# --- chains and classes by taut.solve -------------------------------------------------------------

N_STATES, N_FEATURES, N_ATTRIBUTES, N_CHAINS = 9, 33, 400, 200
CHAINS = ("dense", "CSR", "observed")


@cache
def chain_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, lengths and labels that depend on the rows and on the label before."""
    random = np.random.default_rng(0)
    lengths = random.integers(1, 15, N_CHAINS)
    rows = np.round(random.normal(size=(lengths.sum(), N_FEATURES)), 2)
    rows[random.random(rows.shape) < 0.7] = 0.0
    scores = rows @ random.normal(size=(N_FEATURES, N_STATES))
    truth = (scores + 0.3 * random.normal(size=scores.shape)).argmax(axis=1)
    truth[1:] = np.where(random.random(len(rows) - 1) < 0.1, truth[:-1], truth[1:])
    return rows, lengths, truth


def chain(kind: str = "dense", **options: Any) -> Any:
    from taut.structures import chain_problem

    rows, lengths, truth = chain_data()
    if kind == "dense":
        return chain_problem(rows, lengths, truth, N_STATES, **options)
    observed = kind == "observed"
    return chain_problem(
        with_attributes(rows), lengths, truth, N_STATES, observed=observed, **options
    )


def with_attributes(rows: np.ndarray) -> sparse.csr_array:
    """Each node also has one of many attributes, which are never seen with most of the labels."""
    attribute = np.random.default_rng(9).integers(0, N_ATTRIBUTES, len(rows))
    return sparse.csr_array(np.hstack([rows, np.eye(N_ATTRIBUTES)[attribute]]))


def classes(kind: str) -> Any:
    from taut.structures import multiclass_problem

    rows, _, truth = chain_data()
    return multiclass_problem(rows if kind == "dense" else with_attributes(rows), truth, N_STATES)


def weighted() -> Any:
    """A chain with sample weights and costs."""
    random = np.random.default_rng(1)
    cost = random.uniform(0.3, 2.0, (N_STATES, N_STATES)) * (1.0 - np.eye(N_STATES))
    return chain(importance=random.uniform(0.3, 3.0, N_CHAINS), cost=cost, normalize=False)


def stepwise() -> Any:
    """A chain with features of the steps."""
    return chain(step_features=np.random.default_rng(2).normal(size=(len(chain_data()[0]), 2)))


def constrained() -> Any:
    """Half of the steps to another label are forbidden, labels obey; some of them are forced."""
    from taut.structures import chain_problem

    random = np.random.default_rng(3)
    rows, lengths, truth = chain_data()
    begin, end = np.arange(N_STATES) != 1, np.ones(N_STATES, bool)
    step = (random.random((N_STATES, N_STATES)) < 0.5) | np.eye(N_STATES, dtype=bool)
    sequences = [y.copy() for y in np.split(truth, np.cumsum(lengths)[:-1])]
    for y in sequences:
        y[0] = y[0] if begin[y[0]] else 0
        for t in range(1, len(y)):
            y[t] = y[t] if step[y[t - 1], y[t]] else y[t - 1]
    truth = np.concatenate(sequences)
    forced = np.where(random.random(len(truth)) < 0.2, truth, -1)
    return chain_problem(rows, lengths, truth, N_STATES, allowed=(begin, end, step), forced=forced)


def bcfw(direction: str, **options: Any) -> Any:
    from taut import BCFW

    return BCFW(**{"direction": direction, "refresh": 3, **options})


def frank_wolfe() -> Any:
    from taut import FrankWolfe

    return FrankWolfe()


def oracle_solvers() -> dict[str, Callable[[], Any]]:
    """With sampling by gaps, and all but the last two with a cache."""
    cached = {
        f"{direction}, cache": partial(bcfw, direction, cache=True)
        for direction in ("toward", "pairwise", "away")
    }
    return cached | {"corrective": partial(bcfw, "corrective"), "Frank-Wolfe": frank_wolfe}


def svm(problem: Callable[[], Any], solver: Callable[[], Any], **options: Any) -> Record:
    built = problem()
    return solved(built, solver(), to_label=built, **options)


def add_svms() -> None:
    problems: dict[str, Callable[[], Any]] = {
        f"{kind} chain": partial(chain, kind) for kind in CHAINS
    }
    problems |= {f"{kind} multiclass": partial(classes, kind) for kind in ("dense", "CSR")}
    for on, problem in problems.items():
        for by, solver in oracle_solvers().items():
            PAIRS[f"{by} / {on}"] = partial(svm, problem, solver)
    for by in ("toward, cache", "corrective", "Frank-Wolfe"):
        solver = oracle_solvers()[by]
        PAIRS[f"{by} / dense chain, bounds"] = partial(svm, chain, solver, bounds=(-0.05, 0.1))
    for by in ("toward, cache", "pairwise, cache", "corrective"):
        solver = oracle_solvers()[by]
        PAIRS[f"{by} / weighted chain"] = partial(svm, weighted, solver)
        PAIRS[f"{by} / chain with step features"] = partial(svm, stepwise, solver)
        PAIRS[f"{by} / constrained chain"] = partial(svm, constrained, solver)
    for direction, order in (("toward", "permuted"), ("pairwise", "uniform"), ("away", "cyclic")):
        solver = partial(bcfw, direction, order=order, averaging=True)
        PAIRS[f"{direction}, {order}, averaging / dense chain"] = partial(svm, chain, solver)


add_svms()


@pair("corrective, warm start / dense chain")
def _() -> Record:
    from taut import solve

    problem, solver = chain(), bcfw("corrective")
    earlier = solve(problem, solver, C=0.01, max_passes=6, **RUN)
    return solved(problem, solver, problem, warm_start=earlier)


@pair("corrective, checkpoint / dense chain")
def _() -> Record:
    problem, solver = chain(), bcfw("corrective")
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "run.npz"
        solved(problem, solver, max_passes=6, checkpoint=saved)
        return solved(problem, solver, problem, checkpoint=saved, resume=True)


def slack(solver: Callable[[], Any]) -> Record:
    from taut.structures import slack_rescaled

    problem = chain()
    return solved(slack_rescaled(problem), solver(), to_label=problem)


for by in ("toward, cache", "corrective", "Frank-Wolfe"):
    PAIRS[f"{by} / slack-rescaled chain"] = partial(slack, oracle_solvers()[by])


# --- master problems and subgradients -------------------------------------------------------------


def named(name: str, *arguments: Any, **options: Any) -> Any:
    """A solver of this name."""
    import taut.solvers

    home = taut.solvers if hasattr(taut.solvers, name) else import_module("taut.graph_training")
    return getattr(home, name)(*arguments, **options)


for by, solver in {
    "simplicial, product": partial(named, "Simplicial", "product"),
    "simplicial, one": partial(named, "Simplicial", "one"),
    "cutting planes, n": partial(named, "CuttingPlane", "n"),
    "cutting planes, one": partial(named, "CuttingPlane", "one"),
    "Pegasos": partial(named, "Subgradient", step="pegasos", batch=4, check_every=3),
    "Polyak": partial(named, "Subgradient", step="polyak", check_every=3),
}.items():
    passes = 60 if by.endswith("one") else 8
    PAIRS[f"{by} / dense chain"] = partial(svm, chain, solver, max_passes=passes)
    PAIRS[f"{by} / dense chain, squared slacks"] = partial(
        svm, chain, solver, max_passes=passes, slack_penalty="squared"
    )
    PAIRS[f"{by} / CSR chain"] = partial(svm, partial(chain, "CSR"), solver, max_passes=passes)
PAIRS["simplicial, product / dense chain, bounds"] = partial(
    svm, chain, partial(named, "Simplicial"), max_passes=8, bounds=(-0.05, 0.1)
)


# --- conditional random fields --------------------------------------------------------------------


def crf(
    problem: Callable[[], Any], solver: Callable[[], Any], smoothing: dict[str, Any], **options: Any
) -> Record:
    from taut import smoothed

    built = problem()
    return solved(smoothed(built, **smoothing), solver(), to_label=built, **options)


def add_crfs() -> None:
    sdca = partial(named, "SDCA", refresh=3)
    averaged = partial(named, "SDCA", order="permuted", refresh=3, averaging=True)
    lbfgs = partial(named, "LBFGS")
    augmented = {"temperature": 0.5, "loss_augmented": True}
    for kind in CHAINS:
        PAIRS[f"SDCA / smoothed {kind} chain"] = partial(crf, partial(chain, kind), sdca, {})
        PAIRS[f"L-BFGS / smoothed {kind} chain"] = partial(crf, partial(chain, kind), lbfgs, {})
    PAIRS["SDCA, averaging / smoothed dense chain"] = partial(crf, chain, averaged, {})
    PAIRS["SDCA / smoothed dense chain, l1"] = partial(crf, chain, sdca, {}, l1=0.05)
    PAIRS["L-BFGS / smoothed dense chain, l1"] = partial(crf, chain, lbfgs, {}, l1=0.05)
    bounds = {"bounds": (-0.05, 0.1)}
    PAIRS["SDCA / smoothed dense chain, bounds"] = partial(crf, chain, sdca, {}, **bounds)
    PAIRS["SDCA / softmax margin"] = partial(crf, weighted, sdca, augmented)
    PAIRS["L-BFGS / softmax margin"] = partial(crf, weighted, lbfgs, augmented)
    PAIRS["SDCA / smoothed constrained chain"] = partial(crf, constrained, sdca, {})
    PAIRS["SDCA / smoothed dense multiclass"] = partial(crf, partial(classes, "dense"), sdca, {})


add_crfs()


@pair("L-BFGS / partly labelled chain")
def _() -> Record:
    from taut.structures import partly_labelled

    problem = chain()
    known = np.random.default_rng(4).random(len(chain_data()[2])) < 0.7
    return solved(partly_labelled(problem, known), named("LBFGS"), to_label=problem)


# --- graphs ---------------------------------------------------------------------------------------


def grids(n: int, size: int, n_states: int) -> tuple[list[Any], list[np.ndarray]]:
    from taut.datasets import make_gaussian_potts

    return make_gaussian_potts(n, size=size, n_states=n_states, noise=0.7, random_state=0)


def forests(n: int = 30) -> tuple[list[Any], list[np.ndarray]]:
    """Random forests with edge features and three labels that follow their neighbours'."""
    random = np.random.default_rng(5)
    graphs, labels = [], []
    for _ in range(n):
        nodes = int(random.integers(1, 9))
        edges = [[int(random.integers(t)), t] for t in range(1, nodes) if random.random() < 0.8]
        rows, y = random.normal(size=(nodes, 4)), np.zeros(nodes, np.int64)
        for t in range(nodes):
            y[t] = (rows[t, :3] + 0.5 * random.normal(size=3)).argmax()
        for u, v in edges:
            y[v] = y[u] if random.random() < 0.5 else y[v]
        weights = random.uniform(size=(len(edges), 2))
        graphs.append((rows, np.array(edges, int).reshape(-1, 2), weights))
        labels.append(y)
    return graphs, labels


def label_sets(n_labels: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(6)
    X = random.normal(size=(n, 8))
    scores = X @ random.normal(size=(8, n_labels)) + random.normal(size=(n, 1))
    return X, (scores > 0.5).astype(int)


def graph_svm(data: Callable[[], Any], *predictions: str, **options: Any) -> Record:
    """GraphSVM; then predict by other methods of inference, too."""
    from taut import GraphSVM

    graphs, labels = data()
    solver = options.pop("solver")()
    clf = GraphSVM(**{"C": 0.05, "max_passes": 15, **options, "solver": solver})
    answers = {
        f"labels by {method}": lambda fit, method=method: fit.predict(graphs, inference=method)
        for method in predictions
    }
    return fitted(clf, graphs, labels, answers)


def multilabel_svm(n_labels: int, sparse_rows: bool = False, **options: Any) -> Record:
    from taut import MultilabelSVM

    X, Y = label_sets(n_labels)
    solver = options.pop("solver")()
    clf = MultilabelSVM(**{"C": 0.05, "max_passes": 15, **options, "solver": solver})
    return fitted(clf, sparse.csr_array(X) if sparse_rows else X, Y)


def add_graphs() -> None:
    potts, binary = partial(grids, 12, 5, 3), partial(grids, 12, 5, 2)
    solvers = oracle_solvers() | {"simplicial": partial(named, "Simplicial")}
    attractive = {"attractive": True}
    for by in ("toward, cache", "pairwise, cache", "corrective", "simplicial"):
        solver = solvers[by]
        PAIRS[f"{by} / Potts grid, message passing"] = partial(
            graph_svm, potts, "expansion", solver=solver, **attractive
        )
        PAIRS[f"{by} / binary grid, graph cut"] = partial(
            graph_svm, binary, solver=solver, **attractive
        )
        PAIRS[f"{by} / forest, max-sum"] = partial(
            graph_svm, forests, solver=solver, pairwise="full"
        )
        PAIRS[f"{by} / label sets, roof duality"] = partial(multilabel_svm, 12, solver=solver)
    corrective = solvers["corrective"]
    PAIRS["Frank-Wolfe / forest, max-sum"] = partial(graph_svm, forests, solver=frank_wolfe)
    PAIRS["corrective / slack-rescaled forest"] = partial(
        graph_svm, forests, solver=corrective, formulation="slack"
    )
    PAIRS["corrective / Potts grid, linear program"] = partial(
        graph_svm, partial(grids, 4, 3, 3), solver=corrective, inference="lp", max_passes=3
    )
    PAIRS["corrective / CSR label sets, exhaustive"] = partial(
        multilabel_svm, 5, sparse_rows=True, solver=corrective
    )
    PAIRS["Pegasos / binary grid, roof duality"] = partial(
        graph_svm, binary, solver=partial(named, "Subgradient", batch=3, check_every=2)
    )
    PAIRS["cutting planes, one / label sets, tree"] = partial(
        multilabel_svm, 8, edges="tree", solver=partial(named, "CuttingPlane", "one")
    )
    without = {"soft BCFW": "SoftBCFW", "augmented Lagrangian": "AugmentedLagrangian",
               "IDAL": "IDAL", "soft SDCA": "SoftSDCA"}  # fmt: skip
    for by, name in without.items():
        solver = partial(named, name, check_every=5)
        options = {"solver": solver, "max_passes": 30}
        PAIRS[f"{by} / Potts grid"] = partial(graph_svm, potts, **options)
        PAIRS[f"{by} / label sets"] = partial(multilabel_svm, 8, **options)
    PAIRS["augmented Lagrangian, gap / label sets, bounds"] = partial(
        multilabel_svm, 8, max_passes=30, bounds=(-0.02, 0.05),
        solver=partial(named, "AugmentedLagrangian", order="gap", check_every=5),
    )  # fmt: skip


add_graphs()


@pair("augmented Lagrangian / label sets with counts")
def _() -> Record:
    from taut import MultilabelSVM

    X, Y = label_sets(6)
    Y[Y[:, :4].sum(axis=1) > 2, :4] = 0
    solver = named("AugmentedLagrangian", check_every=5)
    counts = [([0, 1, 2, 3], 0, 2)]
    return fitted(MultilabelSVM(C=0.05, max_passes=30, counts=counts, solver=solver), X, Y)


def marginals(graphs: Any, fit: Any) -> Any:
    return fit.predict_marginals(graphs)


@pair("IDAL / Potts grid, GraphCRF")
def _() -> Record:
    from taut import GraphCRF

    graphs, labels = grids(12, 5, 3)
    crf = GraphCRF(C=0.05, max_passes=30, solver="idal")
    return fitted(crf, graphs, labels, {"marginals": partial(marginals, graphs)})


def tree_crf(name: str, **options: Any) -> Record:
    from taut import TreeCRF

    graphs, labels = forests()
    crf = TreeCRF(C=0.5, max_passes=12, solver=named(name, **options))
    return fitted(crf, graphs, labels, {"marginals": partial(marginals, graphs)})


PAIRS["SDCA / smoothed forest, TreeCRF"] = partial(tree_crf, "SDCA", refresh=3)
PAIRS["L-BFGS / smoothed forest, TreeCRF"] = partial(tree_crf, "LBFGS")


# --- estimators of chains, poses, Python models ---------------------------------------------------


def sequences() -> tuple[list[np.ndarray], list[np.ndarray]]:
    rows, lengths, truth = chain_data()
    ends = np.cumsum(lengths)[:-1]
    return np.split(rows, ends), np.split(truth, ends)


@pair("auto / ChainCRF")
def _() -> Record:
    from taut import ChainCRF

    X, y = sequences()
    answers = {
        "marginals": lambda fit: fit.predict_marginals(X),
        "n-best": lambda fit: [probability for many in fit.predict_nbest(X, 3)
                               for _, probability in many],
        "likelihood": lambda fit: fit.log_likelihood(X, y),
        "posterior": lambda fit: fit.set_params(decoding="posterior").predict(X),
    }  # fmt: skip
    return fitted(ChainCRF(C=0.3, max_passes=10), X, y, answers)


@pair("auto / ChainCRF, missing labels")
def _() -> Record:
    from taut import ChainCRF

    X, y = sequences()
    random = np.random.default_rng(7)
    some = [[None if random.random() < 0.3 else int(label) for label in labels] for labels in y]
    return fitted(ChainCRF(C=0.3, max_passes=10), X, some)


def text(**options: Any) -> Record:
    """From words to labels, by a template and under a scheme."""
    from taut import ChainSVM
    from taut.datasets import make_appointments

    sentences, tags = make_appointments(80, random_state=0)
    clf = ChainSVM(template="chunking", scheme="IOB2", tol=1e-3, max_passes=12, **options)
    return fitted(clf, sentences, tags)


PAIRS["averaged / text, all features"] = partial(text, solver="averaged", features="all")
PAIRS["averaged / text, observed features"] = partial(text, solver="averaged", features="observed")


@pair("corrective / MulticlassSVM")
def _() -> Record:
    from taut import MulticlassSVM

    rows, _, truth = chain_data()
    weight = np.random.default_rng(8).uniform(0.5, 2.0, len(truth))
    clf = MulticlassSVM(C=0.1, max_passes=12, solver=bcfw("corrective"))
    return fitted(clf, rows, truth, sample_weight=weight)


def pose(solver: Callable[[], Any], **options: Any) -> Record:
    from taut import PoseSVM
    from taut.datasets import make_stick_figures

    figures = make_stick_figures(12, size=24, random_state=0)
    clf = PoseSVM(C=1.0, max_passes=12, solver=solver(), **options)
    return fitted(clf, figures.heat_maps, figures.joints)


PAIRS["toward, cache / PoseSVM"] = partial(pose, oracle_solvers()["toward, cache"])
PAIRS["corrective / PoseSVM, two types"] = partial(pose, oracle_solvers()["corrective"], n_types=2)
PAIRS["simplicial / PoseSVM"] = partial(pose, partial(named, "Simplicial"))


class Classes:
    """Four classes in plain Python; with dense or with sparse feature vectors."""

    def __init__(self, as_sparse: bool):
        self.as_sparse = as_sparse

    def joint_feature(self, x: np.ndarray, y: int) -> Any:
        phi = np.zeros((4, len(x)))
        phi[y] = x
        return sparse.csr_array(phi.reshape(1, -1)) if self.as_sparse else phi.ravel()

    def loss(self, y: int, y_hat: int) -> float:
        return float(y != y_hat)

    def oracle(self, w: np.ndarray, x: np.ndarray, y: int) -> int:
        scores = (w.reshape(4, -1) * x).sum(axis=1) + 1.0
        scores[y] -= 1.0
        return int(scores.argmax())

    def predict(self, w: np.ndarray, x: np.ndarray) -> int:
        return int((w.reshape(4, -1) * x).sum(axis=1).argmax())


def python_model(as_sparse: bool, solver: Callable[[], Any]) -> Record:
    from taut import PythonProblem

    rows, _, truth = chain_data()
    X, y = list(rows[:60]), [int(label) % 4 for label in truth[:60]]
    model = Classes(as_sparse)
    record = solved(PythonProblem(model, X, y), solver(), max_passes=8)
    return record | {"labels": np.array([model.predict(record["w"], x) for x in X])}


for by in ("toward, cache", "pairwise, cache", "corrective"):
    PAIRS[f"{by} / PythonProblem, dense"] = partial(python_model, False, oracle_solvers()[by])
PAIRS["pairwise, cache / PythonProblem, sparse"] = partial(
    python_model, True, oracle_solvers()["pairwise, cache"]
)
PAIRS["simplicial / PythonProblem, dense"] = partial(
    python_model, False, partial(named, "Simplicial")
)


def own_problem(solver: Callable[[], Any]) -> Record:
    """The problem that the documentation of the recorded tree writes, compiled in every process."""
    import taut

    file = Path(taut.__file__).parents[2] / "docs" / "ordinal.py"
    spec = importlib.util.spec_from_file_location("ordinal", file)
    assert spec is not None
    assert spec.loader is not None
    if "ordinal" not in sys.modules:
        sys.modules["ordinal"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["ordinal"])
    rows, _, truth = chain_data()
    return solved(sys.modules["ordinal"].ordinal_problem(rows, truth), solver(), C=0.1)


PAIRS["pairwise, cache / a problem of one's own"] = partial(
    own_problem, oracle_solvers()["pairwise, cache"]
)


# --- paths, real data -----------------------------------------------------------------------------


def path(method: str, kind: str, eps: float) -> Record:
    """Weights at the breakpoints, and half way between two of them."""
    from taut import regularization_path

    found = regularization_path(
        chain(kind), method=method, eps=eps, solver=bcfw("corrective"), lam_min=0.01, seed=0,
        n_threads=1, progress=False,
    )  # fmt: skip
    lambdas = found.lambdas
    between = np.array([0.5 * (before + after) for before, after in pairwise(lambdas)])
    asked = np.concatenate([lambdas, between])
    return {
        "history lambda": lambdas,
        "history gap": found.gaps,
        "oracle calls": np.array(found.oracle_calls),
        "w": np.stack([found.weights(lam) for lam in asked]),
        "bounds": np.array([found.bound(lam) for lam in asked]),
    }


PAIRS["path, linear / dense chain"] = partial(path, "linear", "dense", 0.05)
PAIRS["path, linear / CSR chain"] = partial(path, "linear", "CSR", 0.05)
PAIRS["path, constant / dense chain"] = partial(path, "constant", "dense", 0.2)


if os.environ.get("TAUT_DATA"):

    @pair("corrective / OCR-small")
    def _() -> Record:
        from taut.datasets import load_ocr_letters
        from taut.structures import chain_problem

        X, y, fold = load_ocr_letters()
        chosen = np.flatnonzero(fold == 0)
        rows = np.concatenate([X[i] for i in chosen])
        letters = np.concatenate([y[i] for i in chosen]).view(np.uint32).astype(np.int64)
        problem = chain_problem(rows, np.array([len(y[i]) for i in chosen]), letters - ord("a"), 26)
        return solved(problem, bcfw("corrective"), problem, C=1.0, max_passes=9)


# --- record ---------------------------------------------------------------------------------------


def record(file: Path, names: Sequence[str]) -> int:
    import taut

    arguments = {"tree": str(Path(taut.__file__).parent), "numpy": np.__version__}
    file.unlink(missing_ok=True)
    append(file, ABOUT, {name: np.array(value) for name, value in arguments.items()})
    print(f"taut in {arguments['tree']}")
    rows, failed = [], 0
    for name in names:
        kept, seconds = attempt(PAIRS[name])
        again: Record | None = None
        if FAILED not in kept:
            again, more = attempt(PAIRS[name])
            seconds += more
            if FAILED in again or first_difference(kept, again):
                kept = {FAILED: np.array("a second run in the same process differs")}
        append(file, name, kept)
        failed += FAILED in kept
        result = str(kept[FAILED]) if FAILED in kept else described(kept)
        rows.append([name, *[f"{value:.2f}" for value in seconds], result])
        print(f"{name}: {' + '.join(rows[-1][1:-1])} s, {result}", flush=True)
    print()
    table(["pair", "first, CPU s", "second, CPU s", "result"],
          [row if len(row) == 4 else [row[0], row[1], None, row[2]] for row in rows])  # fmt: skip
    print(f"{len(names) - failed} pairs recorded in {file}, {failed} failed")
    return int(failed > 0)


def attempt(function: Callable[[], Record]) -> tuple[Record, list[float]]:
    """What a pair gives, or its error; and its CPU seconds."""
    start = time.process_time()
    try:
        kept = function()
    except Exception as error:
        traceback.print_exc()
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        kept = {FAILED: np.array(line[:200])}
    return kept, [time.process_time() - start]


def described(kept: Record) -> str:
    """How much there is to compare: weights that are all zero would prove little."""
    rows = max(len(array) for name, array in kept.items() if name.startswith("history"))
    alike = "labels" in kept and np.all(kept["labels"] == kept["labels"].flat[0])
    parts = [f"{rows} certificates"]
    parts += ["all weights are zero"] * (not kept["w"].any()) + ["all labels are equal"] * bool(
        alike
    )
    return ", ".join(parts)


def append(file: Path, name: str, kept: Record) -> None:
    """Add arrays to an archive like those of ``numpy.savez``."""
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        for key, array in kept.items():
            with archive.open(f"{name} | {key}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array, order="C"), allow_pickle=False)


def read(file: Path) -> dict[str, Record]:
    found: dict[str, Record] = {}
    with np.load(file, allow_pickle=False) as archive:
        for entry in archive.files:
            name, _, key = entry.partition(" | ")
            found.setdefault(name, {})[key] = archive[entry]
    return found


# --- compare --------------------------------------------------------------------------------------


def compare(first: Path, second: Path, only: Sequence[str] | None) -> int:
    one, other = read(first), read(second)
    for file, found in ((first, one), (second, other)):
        print(f"{file}: {', '.join(f'{k} {v}' for k, v in found.pop(ABOUT, {}).items())}")
    print()
    names = [name for name in {**one, **other} if is_wanted(name, only)]
    rows: list[list[Any]] = []
    for name in names:
        if name not in one or name not in other:
            rows.append([name, "missing", None, f"only in {first if name in one else second}"])
        elif FAILED in one[name] or FAILED in other[name]:
            which = [(file, found[name][FAILED])
                     for file, found in ((first, one), (second, other))
                     if FAILED in found[name]]  # fmt: skip
            said = "; ".join(f"{file.name}: {error}" for file, error in which)
            rows.append([name, "failed", None, said])
        else:
            begins = first_difference(one[name], other[name])
            size = f"{largest_difference(one[name], other[name]):.1e}" if begins else None
            rows.append([name, "no" if begins else "yes", size, begins or None])
    table(["pair", "all bits equal", "largest difference", "begins"], rows)
    wrong = sum(row[1] != "yes" for row in rows)
    print(f"{len(rows) - wrong} of {len(rows)} pairs are equal to the last bit")
    return int(wrong > 0 or not rows)


def differing(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which entries of two arrays of one shape have different bits."""
    if one.dtype != other.dtype:
        return np.ones(one.size, bool)
    if one.dtype.kind == "f":  # NaN is equal to NaN here, and 0 is not equal to -0
        one, other = (np.ascontiguousarray(array).view(np.int64) for array in (one, other))
    return (one != other).ravel()


def first_difference(one: Record, other: Record) -> str:
    """Where two records begin to differ, in words; "" if they do not."""
    in_history: list[tuple[int, str]] = []
    for key in one.keys() & other.keys():
        if key.startswith("history "):
            rows = min(len(one[key]), len(other[key]))
            found = np.flatnonzero(differing(one[key][:rows], other[key][:rows]))
            in_history += [(int(row), key.removeprefix("history ")) for row in found[:1]]
    if in_history:
        row = min(in_history)[0]
        fields = [name for name in order_of(one) if (row, name) in in_history]
        passes = one.get("history passes")
        when = "" if passes is None else f" (pass {passes[row]:g})"
        return f"certificate {row}{when}: {', '.join(fields)}"
    for key in one:
        if key not in other:
            return f"{key} is missing in the second"
        if one[key].shape != other[key].shape:
            return f"{key} has the shapes {one[key].shape} and {other[key].shape}"
        found = np.flatnonzero(differing(one[key], other[key]))
        if found.size:
            return f"{key}, entry {found[0]}; {found.size} of {one[key].size} entries"
    extra = [key for key in other if key not in one]
    return f"{extra[0]} is missing in the first" if extra else ""


def order_of(kept: Record) -> list[str]:
    return [key.removeprefix("history ") for key in kept]


def largest_difference(one: Record, other: Record) -> float:
    """Over all arrays of numbers; infinite where the shapes differ."""
    largest = 0.0
    for key in one.keys() & other.keys():
        a, b = one[key], other[key]
        if a.dtype.kind not in "fiu" or b.dtype.kind not in "fiu":
            continue
        if key.startswith("history "):
            a, b = (array[: min(len(a), len(b))] for array in (a, b))
        if a.shape != b.shape:
            return np.inf
        finite = np.isfinite(a) & np.isfinite(b)
        scale = max(np.abs(a[finite]).max(initial=0), np.abs(b[finite]).max(initial=0))
        if scale > 0:
            largest = max(largest, float(np.abs(a[finite] - b[finite]).max() / scale))
    return largest


def is_wanted(name: str, only: Sequence[str] | None) -> bool:
    return not only or any(text in name for text in only)


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a markdown table; None is a dash."""
    cells = [["–" if value is None else str(value) for value in row] for row in rows]
    widths = [max(len(row[k]) for row in [list(header), *cells]) for k in range(len(header))]
    for line in [list(header), ["-" * width for width in widths], *cells]:
        padded = (f"{value:{width}}" for value, width in zip(line, widths, strict=True))
        print("| " + " | ".join(padded) + " |")
    print(flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="train all pairs and keep what happens")
    recording.add_argument("file", type=Path)
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("files", type=Path, nargs=2)
    for command in (recording, comparing):
        command.add_argument("--only", nargs="+", metavar="TEXT", help="pairs with such names")
    options = parser.parse_args()
    if options.command == "compare":
        return compare(*options.files, options.only)
    names = [name for name in PAIRS if is_wanted(name, options.only)]
    if not names:
        parser.error("no pair has such a name")
    return record(options.file, names)


if __name__ == "__main__":
    sys.exit(main())
