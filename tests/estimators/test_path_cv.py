"""SVMs that choose C themselves: a regularisation path for each fold, scored as it is computed."""

import inspect
import pickle
import signal
import time

import numpy as np
import pytest
from python_models import Chain
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taut
from taut import ChainSVM, ChainSVMCV, MulticlassSVM, MulticlassSVMCV, Sequences, StructuredSVMCV
from taut.datasets import make_appointments, make_digit_words
from taut.metrics import token_accuracy
from taut.solvers.progress import Progress

# So few lambdas are for speed; that the best of them is the last does not matter.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*largest that was considered"),
    pytest.mark.filterwarnings("ignore:.*every C scores the same"),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    noise = 0.7 * rng.normal(size=60)
    return X, np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + noise, [-0.5, 0.5])]


@pytest.fixture(scope="module")
def fitted(table):
    return MulticlassSVMCV(cv=3, n_lambdas=12, random_state=0).fit(*table)


def test_chosen_is_the_lambda_with_the_best_mean_score(fitted):
    means = fitted.scores_.mean(axis=1)
    assert fitted.scores_.shape == (12, 3)
    assert fitted.best_score_ == means.max()
    assert fitted.lam_ == fitted.lambdas_[means.argmax()]
    assert np.isclose(fitted.C_ * fitted.lam_ * 60, 1)
    assert np.allclose(fitted.Cs_ * fitted.lambdas_ * 60, 1)
    assert np.all(np.diff(fitted.lambdas_) < 0)


def test_scores_are_those_of_the_paths_of_the_folds(fitted, table):
    X, y = table
    for k, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        model = MulticlassSVM(random_state=0)
        path = taut.regularization_path(
            model, X[train], y[train], floor=1e-3, lam_min=fitted.lambdas_[-1]
        )
        scores = [path.estimator(lam).score(X[test], y[test]) for lam in fitted.lambdas_]
        assert np.array_equal(fitted.scores_[:, k], scores)


def test_it_is_then_trained_on_everything_at_that_C(fitted, table):
    X, y = table
    alone = MulticlassSVM(C=fitted.C_, random_state=0).fit(X, y)
    assert fitted.solution_.relative_gap <= 1e-3
    assert fitted.solution_.primal - alone.solution_.dual <= 1e-3 * fitted.solution_.scale
    # Both are within the gap of the optimum: |w - w*|^2 <= 2 gap / lambda (strong convexity).
    distance = np.linalg.norm(fitted.w_ - alone.w_)
    far = np.sqrt(2 * fitted.solution_.gap / fitted.lam_)
    assert distance <= far + np.sqrt(2 * alone.solution_.gap / fitted.lam_)


def test_path_of_all_the_data_goes_down_to_the_chosen_lambda(fitted):
    assert fitted.path_.guaranteed
    assert fitted.path_.end in (0.0, fitted.lam_)
    assert fitted.path_.bound(fitted.lam_) <= 0.1 * fitted.path_.scale
    assert fitted.path_.estimator(fitted.lam_).predict(np.zeros((1, 4))).shape == (1,)


def test_number_of_jobs_changes_nothing(fitted, table):
    other = MulticlassSVMCV(cv=3, n_lambdas=12, random_state=0, n_jobs=2).fit(*table)
    assert np.array_equal(other.scores_, fitted.scores_)
    assert np.array_equal(other.w_, fitted.w_)


def test_one_standard_error_regularises_more(fitted, table):
    careful = MulticlassSVMCV(cv=3, n_lambdas=12, random_state=0, one_standard_error=True)
    careful.fit(*table)
    best = fitted.scores_.mean(axis=1).argmax()
    error = fitted.scores_[best].std(ddof=1) / np.sqrt(3)
    within = fitted.scores_.mean(axis=1) >= fitted.best_score_ - error
    assert careful.lam_ == fitted.lambdas_[within.argmax()] >= fitted.lam_


def test_weights_twice_as_large_want_half_the_C(table):
    X, y = table
    options = {"cv": 2, "n_lambdas": 5, "random_state": 0}
    once = MulticlassSVMCV(**options).fit(X, y)
    twice = MulticlassSVMCV(**options).fit(X, y, sample_weight=np.full(60, 2.0))
    assert np.allclose(twice.Cs_, once.Cs_ / 2)
    assert np.array_equal(twice.scores_, once.scores_)


def test_sample_weights_go_with_their_examples(table):
    """Examples of weight 0 might as well not be there, in whatever fold they are."""
    X, y = table
    weights = np.tile([1.0, 1.0, 0.0], 20)
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    options = {"cv": folds, "n_lambdas": 4, "eps": 0.01, "random_state": 0}
    weighted = MulticlassSVMCV(**options).fit(X, y, sample_weight=weights)
    spoilt = y.copy()
    spoilt[weights == 0] = np.roll(spoilt[weights == 0], 1)
    other = MulticlassSVMCV(**options).fit(X, spoilt, sample_weight=weights)
    assert np.allclose(weighted.w_, other.w_, atol=0.05 * np.abs(weighted.w_).max())


# --- scikit-learn's manners ----------------------------------------------------------------------


def test_parameters_are_those_of_the_svm_but_for_C_and_those_of_the_search():
    names = set(MulticlassSVMCV().get_params())
    of_one_run = {"C", "warm_start", "callback"}
    search = {"cv", "scoring", "eps", "lam_min", "n_lambdas", "one_standard_error"}
    assert names == set(MulticlassSVM().get_params()) - of_one_run | search
    assert set(inspect.signature(MulticlassSVMCV).parameters) == names
    assert repr(MulticlassSVMCV(cv=3)) == "MulticlassSVMCV(cv=3)"
    with pytest.raises(TypeError, match=r"MulticlassSVMCV: .*; it chooses C itself"):
        MulticlassSVMCV(C=1.0)


def test_clone_set_params_and_pickle(fitted, table):
    copy = clone(fitted).set_params(cv=2, bias=False)
    assert (copy.cv, copy.bias, hasattr(copy, "C_")) == (2, False, False)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(table[0]), fitted.predict(table[0]))
    assert np.array_equal(again.path_.weights(fitted.lam_), fitted.path_.weights(fitted.lam_))
    with pytest.raises(TypeError, match=r"weights\(lam\)"):
        again.path_.estimator(fitted.lam_)


def test_grid_search_and_pipelines(table):
    X, y = table
    inner = MulticlassSVMCV(cv=2, n_lambdas=3, random_state=0)
    search = GridSearchCV(make_pipeline(StandardScaler(), inner), {"multiclasssvmcv__bias": [True]})
    search.set_params(cv=2).fit(X, y)
    assert search.best_estimator_[-1].scores_.shape == (3, 2)


# --- what can be asked for -----------------------------------------------------------------------


def test_sequences_by_spans_tokens_or_a_function_of_ones_own():
    X, y = make_appointments(40)
    options = {"cv": KFold(2), "n_lambdas": 4, "template": "w[0]; w[-1]", "random_state": 0}
    by_span = ChainSVMCV(scoring="span_f1", **options).fit(X, y)
    by_token = ChainSVMCV(scoring="token_accuracy", **options).fit(X, y)
    own = ChainSVMCV(scoring=make_scorer(token_accuracy), **options).fit(X, y)
    default = ChainSVMCV(**options).fit(X, y)
    assert np.array_equal(by_token.scores_, own.scores_)
    assert np.allclose(by_token.scores_, default.scores_)
    assert not np.allclose(by_span.scores_, by_token.scores_)
    assert by_span.predict(X[:1])[0] == by_span.predict_single(X[0])


def test_names_of_scikit_learn(table):
    clf = MulticlassSVMCV(cv=2, n_lambdas=3, scoring="f1_macro", random_state=0).fit(*table)
    assert 0 <= clf.best_score_ <= 1


def test_containers_are_cut_without_changing_their_kind():
    X, y = make_digit_words(20, random_state=0)
    lengths = [len(x) for x in X]
    options = {"cv": 2, "n_lambdas": 3, "random_state": 0}
    lists = ChainSVMCV(**options).fit(X, y)
    stacked = ChainSVMCV(**options).fit(Sequences(np.concatenate(X), lengths), y)
    assert np.array_equal(lists.scores_, stacked.scores_)
    rows = Sequences(sparse.csr_array(np.concatenate(X)), lengths)
    assert ChainSVMCV(**options).fit(rows, y).scores_.shape == (3, 2)


def test_models_in_python():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(2, 2)) for _ in range(8)]
    y = [tuple((x[:, 0] > 0).astype(int)) for x in X]
    clf = StructuredSVMCV(Chain(2, 2), cv=2, n_lambdas=3, eps=0.3, tol=0.1, random_state=0)
    assert clf.fit(X, y).scores_.shape == (3, 2)
    assert clf.path_.guaranteed


def test_a_saved_model_is_a_chain_model(tmp_path):
    X, y = make_digit_words(20, random_state=0)
    clf = ChainSVMCV(cv=2, n_lambdas=3, random_state=0).fit(X, y)
    clf.save(tmp_path / "model.taut")
    loaded = taut.load(tmp_path / "model.taut")
    assert type(loaded) is ChainSVM
    assert np.array_equal(np.concatenate(loaded.predict(X)), np.concatenate(clf.predict(X)))
    assert loaded.solution_.C == loaded.C == clf.C_


# --- stopping early ------------------------------------------------------------------------------


class PressesCtrlC:
    """Scores like the estimator, and interrupts once it has been asked so often."""

    def __init__(self, after):
        self.left = after

    def __call__(self, estimator, X, y):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return estimator.score(X, y)


def test_ctrl_c_chooses_from_the_folds_that_are_whole(table):
    search = MulticlassSVMCV(cv=3, n_lambdas=12, random_state=0, scoring=PressesCtrlC(12 + 8))
    with pytest.warns(ConvergenceWarning, match="from 1 of 3 folds"):
        search.fit(*table)
    assert np.isnan(search.scores_).any(axis=0).tolist() == [False, True, True]
    assert search.lam_ == search.lambdas_[search.scores_[:, 0].argmax()]
    assert search.predict(table[0]).shape == (60,)


@pytest.mark.filterwarnings("ignore:.*worse than that of w = 0")  # tol=1 is no promise
def test_a_time_limit_chooses_from_what_there_is(table):
    search = MulticlassSVMCV(cv=3, n_lambdas=12, random_state=0, time_limit=0.0, tol=1.0)
    with pytest.warns(ConvergenceWarning, match=r"from \d of 3 folds and lambdas down to"):
        search.fit(*table)
    assert np.isnan(search.scores_).any()
    assert not np.isnan(search.best_score_)


@pytest.mark.filterwarnings("ignore:.*worse than that of w = 0")  # tol=1 is no promise
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_cpu_limit_does_so_too(table, n_jobs):
    search = MulticlassSVMCV(cv=3, random_state=0, cpu_limit=0.0, tol=1.0, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match=r"from \d of 3 folds and lambdas down to"):
        search.fit(*table)
    assert np.isnan(search.scores_).any(axis=0).all()


def test_folds_do_not_count_the_cpu_seconds_of_others(table):
    """Scoring one fold takes long; the others have their whole share all the same."""
    calls = []

    def slow(estimator, X, y):
        calls.append(None)
        if len(calls) == 1:
            busy_until = time.thread_time() + 1.5
            while time.thread_time() < busy_until:
                pass
        return estimator.score(X, y)

    search = MulticlassSVMCV(
        cv=3, n_lambdas=4, eps=0.5, random_state=0, scoring=slow, cpu_limit=3.0, n_jobs=3
    )
    with pytest.warns(ConvergenceWarning, match=r"by time_limit, cpu_limit.* from 2 of 3 folds"):
        search.fit(*table)


def test_how_far_all_folds_are_is_shown_in_one_line(table, monkeypatch):
    lines = []
    monkeypatch.setattr(Progress, "line", lambda progress, text: lines.append(text()))
    MulticlassSVMCV(cv=3, n_lambdas=12, random_state=0, n_jobs=2).fit(*table)
    of_folds = [line for line in lines if line.startswith("cross-validation: ")]
    assert "0 % of all folds' paths, 0 of 3 folds finished" in of_folds[0]
    assert "100 % of all folds' paths, 3 of 3 folds finished" in of_folds[-1]


# --- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_lambdas": 1}, "n_lambdas=1; a whole number of at least 2"),
        ({"scoring": "acuracy"}, "scoring='acuracy'; expected 'sequence_accuracy'"),
        ({"eps": 0.0}, "eps=0.0; a number between 0 and 1"),
        ({"time_limit": -1.0}, "time_limit=-1.0; a number of seconds"),
        ({"cpu_limit": -1.0}, "cpu_limit=-1.0; a number of seconds"),
        ({"tol": -1.0}, "tol=-1.0; it must be a number, not negative"),
        ({"cv": []}, "makes no folds"),
        ({"lam_min": -1.0}, "lam_min=-1.0; a positive number"),
        ({"solver": "simplicial"}, "solver='simplicial' cannot follow a path"),
        ({"slack_penalty": "squared"}, 'slack_penalty="linear"'),
    ],
)
def test_mistakes_are_named(table, options, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVMCV(**{"cv": 2} | options).fit(*table)


def test_a_fold_without_which_there_is_one_class_is_named(table):
    X, y = table
    few = np.flatnonzero(y == "low")
    with pytest.raises(ValueError, match="without fold 1 of 2: y has one class only"):
        MulticlassSVMCV(cv=[(np.arange(60), few), (few, np.arange(60))]).fit(X, y)


def test_the_largest_C_of_all_is_doubted(table):
    X, y = table
    strong = MulticlassSVMCV(cv=3, n_lambdas=2, lam_min=1.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="a smaller lam_min might find a better one"):
        strong.fit(X, y)


def test_groups_stay_together(table):
    X, y = table
    groups = np.arange(60) // 20
    clf = MulticlassSVMCV(cv=LeaveOneGroupOut(), n_lambdas=5, random_state=0)
    assert clf.fit(X, y, groups=groups).scores_.shape == (5, 3)
