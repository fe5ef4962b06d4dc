"""A model in plain Python finds the optimum that the compiled structure finds."""

import pickle

import numpy as np
import pytest
from python_models import Chain, Multiclass
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from taut import (
    BCFW,
    ChainSVM,
    FrankWolfe,
    MulticlassSVM,
    PythonProblem,
    Status,
    StructuredSVM,
    solve,
)
from taut.problem.python_problem import label_key

SOLVERS = ["auto", "fw", "bcfw", "bcpfw", "bcafw", "corrective"]


@pytest.fixture(scope="module")
def chains():
    random = np.random.default_rng(0)
    X = [random.normal(size=(length, 3)) for length in (2, 3, 3, 2, 1, 3, 2, 3)]
    y = [
        tuple(np.argmax(x[:, :2] + 0.4 * random.normal(size=(len(x), 2)), axis=1).tolist())
        for x in X
    ]
    return X, y


@pytest.fixture(scope="module")
def points():
    random = np.random.default_rng(1)
    X = random.normal(size=(30, 4))
    return X, np.argmax(X[:, :3] + 0.5 * random.normal(size=(30, 3)), axis=1).tolist()


def distance_bound(*solutions):
    return sum(np.sqrt(2 * max(one.gap, 0.0) / one.lam) for one in solutions) + 1e-9


def agree(one, other):
    overlap = one.dual <= other.primal + 1e-12 and other.dual <= one.primal + 1e-12
    return overlap and np.linalg.norm(one.w - other.w) <= distance_bound(one, other)


# --- the same optimum ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "csr", "coo", "csc"])
def test_same_optimum_as_the_compiled_chain(chains, kind):
    X, y = chains
    compiled = ChainSVM(C=0.5, loss="hamming", tol=1e-4).fit(X, y)
    python = StructuredSVM(Chain(2, 3, kind), C=0.5, tol=1e-3).fit(X, y)
    assert agree(python.solution_, compiled.solution_)
    assert python.score(X, y) == pytest.approx(
        np.mean([np.mean(np.equal(p, t)) for p, t in zip(python.predict(X), y, strict=True)])
    )


@pytest.mark.parametrize("bounds", [None, (-0.1, 0.2)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver(points, solver, bounds):
    X, y = points
    compiled = MulticlassSVM(C=0.1, bias=False, tol=1e-5, bounds=bounds).fit(X, y)
    python = StructuredSVM(
        Multiclass(3), C=0.1, solver=solver, tol=2e-2, bounds=bounds, max_passes=3000
    ).fit(X, y)
    assert python.solution_.status is Status.CONVERGED
    assert agree(python.solution_, compiled.solution_)


def test_interpreted_and_compiled_take_the_same_steps(points):
    """One solver source: the same blocks, the same steps, up to rounding."""
    X, y = points
    options = {"C": 0.1, "solver": BCFW(order="cyclic", direction="pairwise"), "tol": 1e-2}
    python = StructuredSVM(Multiclass(3), **options).fit(X, y).solution_
    compiled = MulticlassSVM(bias=False, **options).fit(X, y).solution_
    assert python.passes == compiled.passes
    np.testing.assert_allclose(python.history.gap, compiled.history.gap, atol=1e-9)


def test_sample_weights(points):
    X, y = points
    weight = np.linspace(0, 2, len(y))
    compiled = MulticlassSVM(C=0.1, bias=False, tol=1e-4).fit(X, y, weight)
    python = StructuredSVM(Multiclass(3), C=0.1, tol=1e-3).fit(X, y, weight)
    assert agree(python.solution_, compiled.solution_)


def test_all_options_combine(points):
    X, y = points
    reference = MulticlassSVM(C=0.1, bias=False, tol=1e-4).fit(X, y).solution_
    problem = PythonProblem(Multiclass(3), X, y)
    for solver in (
        BCFW(order="uniform", direction="toward", cache=True),
        BCFW(order="permuted", direction="pairwise", cache=True, averaging=True),
        BCFW(order="cyclic", direction="away", cache=True, cache_size=2),
        BCFW(direction="corrective", cache_size=2, averaging=True),
        FrankWolfe(averaging=True),
    ):
        solution = solve(problem, solver, C=0.1, tol=2e-2, max_passes=3000)
        assert agree(solution, reference)


# --- manners ------------------------------------------------------------------------------------


def test_estimator_manners(points):
    X, y = points
    clf = StructuredSVM(Multiclass(3), C=0.1)
    assert clone(clf).get_params()["C"] == 0.1
    search = GridSearchCV(clf, {"C": [0.01, 0.1]}, cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.predict(X) == search.predict(X)
    with pytest.raises(ValueError, match="X has 30 examples but y has 29"):
        search.best_estimator_.score(X, y[1:])


@pytest.mark.parametrize("solver", ["bcfw", "bcpfw", "corrective"])
def test_warm_start(points, solver):
    X, y = points
    options = {"solver": solver, "tol": 1e-2, "max_passes": 3000}
    clf = StructuredSVM(Multiclass(3), C=0.05, warm_start=True, **options).fit(X, y)
    assert clf.fit(X, y).n_iter_ == 0
    for C in (0.1, 0.05):
        cold = StructuredSVM(Multiclass(3), C=C, **options).fit(X, y)
        assert agree(clf.set_params(C=C).fit(X, y).solution_, cold.solution_)
    with pytest.raises(ValueError, match="training data or the loss differ"):
        clf.fit(X + 1, y)


def test_plain_steps_forget_their_labels(points):
    """Without active sets and caches nothing but the truth is remembered between steps."""
    X, y = points
    problem = PythonProblem(Multiclass(3), X, y)
    solve(problem, BCFW(), C=0.1, max_passes=20, tol=0)
    assert all(len(tokens) == 1 for tokens in problem._tokens)
    assert max(len(known) for known in problem._known) <= 2


def test_caches_remember_no_more_than_they_keep(points):
    X, y = points
    problem = PythonProblem(Multiclass(3), X, y)
    solution = solve(problem, BCFW(direction="pairwise"), C=0.1, max_passes=20, tol=0)
    for i, tokens in enumerate(problem._tokens):
        assert len(tokens) <= solution.state.corners.size[i] + 1


def test_labels_may_be_anything():
    pairs = [
        (np.array([1, 2]), np.array([1, 2])),
        ([np.array([1]), "a"], [np.array([1]), "a"]),
        ({"a": [1], "b": 2}, {"b": 2, "a": [1]}),
        ({1, 2}, {2, 1}),
        (np.array(["a", None], object), np.array(["a", None], object)),
        ((1, "a"), (1, "a")),
    ]
    for a, b in pairs:
        assert label_key(a) == label_key(b)
        assert hash(label_key(a)) == hash(label_key(b))
    assert label_key(np.array([1, 2])) != label_key(np.array([1.0, 2.0]))
    with pytest.raises(TypeError, match="labels of type bytearray cannot be compared"):
        label_key(bytearray(b"a"))


# --- checkpoints --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_checkpoint_resumes(chains, kind, tmp_path):
    X, y = chains
    options = {
        "C": 0.5,
        "tol": 0,
        "seed": 0,
        "checkpoint": tmp_path / "run",
        "checkpoint_seconds": 0,
    }
    problem = PythonProblem(Chain(2, 3, kind), X, y)
    solve(problem, BCFW(order="uniform"), max_passes=20, **options)
    resumed = solve(
        PythonProblem(Chain(2, 3, kind), X, y),
        BCFW(order="uniform"),
        max_passes=40,
        resume=True,
        **options,
    )
    options.pop("checkpoint")
    whole = solve(problem, BCFW(order="uniform"), max_passes=40, **options)
    assert resumed.passes == 40
    np.testing.assert_allclose(resumed.w, whole.w, atol=1e-9)


def test_checkpoint_refuses_labels_it_cannot_hold(points, tmp_path):
    X, y = points
    with pytest.raises(ValueError, match="cannot hold the labels of a Python model"):
        StructuredSVM(Multiclass(3), solver="bcpfw", checkpoint=tmp_path / "run").fit(X, y)


# --- bad models ---------------------------------------------------------------------------------


class Broken(Multiclass):
    def __init__(self, **methods):
        super().__init__(3)
        for name, method in methods.items():
            setattr(self, name, method)


def test_an_oracle_that_does_not_maximise(points):
    X, y = points
    message = r"example \d+: oracle returned a value below the true label's; it is not maximising"
    with pytest.raises(ValueError, match=message):
        StructuredSVM(Broken(oracle=lambda w, x, y: (y + 1) % 3), C=10, solver="bcfw").fit(X, y)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            lambda x, y: np.ones(12 + (y == 2)),
            "joint_feature of example 1 returned 13 features, others have 12",
        ),
        (
            lambda x, y: np.full(12, np.nan if y == 2 else 1),
            "joint_feature of example 1 returned a feature that is NaN",
        ),
        (
            lambda x, y: np.ones((3, 4)),
            r"joint_feature of example 0: returned an array of shape \(3, 4\)",
        ),
        (lambda x, y: ["a"], "joint_feature of example 0: could not convert"),
    ],
)
def test_features_that_are_wrong(method, message):
    with pytest.raises(ValueError, match=message):
        PythonProblem(Broken(joint_feature=method), np.ones((2, 4)), [0, 2])


def test_losses_that_are_wrong(points):
    X, y = points
    for value in (-1.0, np.nan, np.inf):
        model = Broken(loss=lambda a, b, value=value: value if a != b else 0.0)
        with pytest.raises(ValueError, match=r"loss of example \d+ is .*; a loss is finite"):
            solve(PythonProblem(model, X, y))


def test_the_model_cannot_modify_the_weights(points):
    def oracle(w, x, y):
        w[0] = 1.0

    with pytest.raises(ValueError, match="read-only"):
        solve(PythonProblem(Broken(oracle=oracle), *points))


def test_arguments():
    with pytest.raises(TypeError, match="the model object has no method joint_feature"):
        PythonProblem(object(), [1], [1])
    with pytest.raises(ValueError, match="X has 2 examples but Y has 1"):
        PythonProblem(Multiclass(3), np.ones((2, 4)), [1])
    with pytest.raises(ValueError, match="there are no examples"):
        PythonProblem(Multiclass(3), [], [])
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\); expected \(2,\)"):
        PythonProblem(Multiclass(3), np.ones((2, 4)), [0, 1], [1, 1, 1])


# --- slack rescaling ----------------------------------------------------------------------------


def slack_problem(model, X, Y, **options):
    return PythonProblem(model, X, Y, formulation="slack", **options)


class ByDenseOracle(Chain):
    """Features of any kind; enumeration uses dense ones."""

    def slack_oracle(self, w, x, y):
        return Chain(self.n_states, self.n_features).slack_oracle(w, x, y)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_under_slack_rescaling_features_are_multiplied_by_the_loss(chains, kind):
    X, Y = chains
    problem, model = slack_problem(ByDenseOracle(2, 3, kind), X, Y), Chain(2, 3)
    w, y = np.random.default_rng(0).normal(size=problem.dim), np.zeros(1, np.int32)
    for i, (x, truth) in enumerate(zip(X, Y, strict=True)):
        value = problem.argmax(w, i, None, y)
        best = model.slack_oracle(w, x, truth)
        psi = model.joint_feature(x, truth) - model.joint_feature(x, best)
        loss = model.loss(truth, best)
        assert value == pytest.approx(loss * (1 - psi @ w), rel=0, abs=1e-12)
        assert problem.label_loss(i, y) == loss
        assert problem.margin(w, i, y, None) == pytest.approx(loss * psi @ w, rel=0, abs=1e-12)


def test_slack_rescaling_needs_an_oracle_of_its_own(points):
    X, y = points
    with pytest.raises(TypeError, match="no method slack_oracle; under formulation='slack'"):
        slack_problem(Multiclass(3), X, y)
    with pytest.raises(ValueError, match='formulation=\'both\'; expected "margin" or "slack"'):
        PythonProblem(Multiclass(3), X, y, formulation="both")

    class OnlySlack:
        """``oracle`` is not asked for."""

        joint_feature, loss, predict = Multiclass.joint_feature, Multiclass.loss, Multiclass.predict
        n_states = 3

        def slack_oracle(self, w, x, y):
            # With losses 0 and 1, the highest score among all wrong labels, unless it is too low.
            scores = w.reshape(3, -1) @ x
            scores[y] = scores[y] - 1.0
            return int(np.argmax(scores))

    one = solve(slack_problem(OnlySlack(), X, y), BCFW(direction="corrective"), C=0.1, tol=1e-2)
    other = solve(PythonProblem(Multiclass(3), X, y), BCFW(direction="corrective"), C=0.1, tol=1e-2)
    assert agree(one, other)  # the two formulations differ in nothing if all losses are 1


def test_an_oracle_of_slack_rescaling_that_does_not_maximise(chains):
    X, Y = chains

    class Wrong(Chain):
        def slack_oracle(self, w, x, y):
            return tuple(1 - k for k in y)

    problem = slack_problem(Wrong(2, 3), X, Y)
    w = -2.0 * problem.features(0, tuple(1 - k for k in Y[0])).to_dense(problem.dim)
    with pytest.raises(ValueError, match=r"slack_oracle returned .* maximising loss \* \(1 \+ <w"):
        problem.argmax(w, 0, None, np.zeros(1, np.int32))


def test_formulations_do_not_continue_each_other(chains):
    X, Y = chains
    slack, margin = slack_problem(Chain(2, 3), X, Y), PythonProblem(Chain(2, 3), X, Y)
    assert slack.fingerprint() != margin.fingerprint()
    with pytest.raises(ValueError, match="the last fit had formulation='margin'"):
        slack.recall(margin)
    slack.recall(slack_problem(Chain(2, 3), X, Y))


def test_sparse_features_outside_their_vector_are_refused():
    """scipy makes such a vector without a word, and compiled code would follow its indices."""

    class Outside(Multiclass):
        def joint_feature(self, x, y):
            return sparse.csr_array(([1.0], [x + y], [0, 1]), shape=(1, 3))

    with pytest.raises(ValueError, match=r"example 1: what it returned .* indices\[0\] is 3, but"):
        PythonProblem(Outside(2), [0, 2], [1, 1])
