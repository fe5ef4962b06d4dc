"""The optimum is CRFsuite's: the same features, the same objective, to 1e-5 and better.

CRFsuite minimises  -log-likelihood + c2 |w|^2,  which is n times the objective of a CRF with
lambda n / 2 = 1 / (2 C) = c2. It has no weights for a bias, the first or the last position, and one
for every pair of attribute and label, or only for the pairs seen together ("observed").
"""

import numpy as np
import pytest
from crf_reference import CRFReference
from scipy import sparse
from taut_reference import Reference, by_feature

from taut.datasets import load_conll2000
from taut.solvers import LBFGS, SDCA, Status, solve
from taut.structures import chain_problem, smoothed

pycrfsuite = pytest.importorskip("pycrfsuite")
SOLVERS = {"SDCA": SDCA(), "L-BFGS": LBFGS()}


class Text:
    """Sequences of lists of attributes, for both sides."""

    def __init__(self, attributes, labels):
        self.attributes, self.labels = attributes, labels
        self.n, self.lengths = len(labels), [len(y) for y in labels]
        self.names = sorted({label for y in labels for label in y})
        number = {name: k for k, name in enumerate(self.names)}
        self.truth = np.array([number[label] for y in labels for label in y], np.int32)

    def rows(self):
        tokens = [token for sequence in self.attributes for token in sequence]
        known = {name: j for j, name in enumerate(sorted({a for token in tokens for a in token}))}
        columns = [known[name] for token in tokens for name in token]
        pointer = np.concatenate([[0], np.cumsum([len(token) for token in tokens])])
        shape = len(tokens), len(known)
        return sparse.csr_array((np.ones(len(columns)), columns, pointer), shape=shape)

    def crfsuite(self, tmp_path, c2, all_states, c1=0.0):
        """The lowest objective that CRFsuite logs, divided by the number of sequences."""
        settings = {
            "c1": c1, "c2": c2, "max_iterations": 3000, "epsilon": 1e-6, "delta": 1e-10,
            "feature.possible_states": all_states, "feature.possible_transitions": True,
        }  # fmt: skip
        trainer = pycrfsuite.Trainer("lbfgs", settings, verbose=False)
        for attributes, labels in zip(self.attributes, self.labels, strict=True):
            trainer.append(attributes, labels)
        trainer.train(str(tmp_path / "model"))
        return min(iteration["loss"] for iteration in trainer.logparser.iterations) / self.n

    def problem(self, rows, observed=False):
        return smoothed(
            chain_problem(
                rows, self.lengths, self.truth, len(self.names), bias=False, boundary=False,
                observed=observed,
            )
        )  # fmt: skip

    def assert_same_optimum(self, theirs, problem, solver, c2, c1=0.0):
        C = 1.0 / (2.0 * c2)
        solution = solve(problem, solver, C=C, l1=c1 * C, tol=1e-7, max_passes=3000)
        assert solution.status is Status.CONVERGED
        assert abs(theirs - solution.primal) <= 1e-5 * solution.primal
        # Their objective is one of ours: never below what is proved. It is printed to 1e-6.
        assert solution.dual <= theirs + 1e-6 / self.n
        return solution


def window(sentence, t):
    """Words and parts of speech around a token, and pairs of them."""
    attributes = []
    for name, column in (("w", 0), ("pos", 1)):
        for offset in (-1, 0, 1):
            if 0 <= t + offset < len(sentence):
                attributes.append(f"{name}[{offset}]={sentence[t + offset][column]}")
    if t > 0:
        attributes.append(f"pos[-1]|pos[0]={sentence[t - 1][1]}|{sentence[t][1]}")
    return attributes


@pytest.fixture(scope="module")
def chunks(real_data):
    """300 sentences of CoNLL-2000."""
    sentences, tags = load_conll2000("train", real_data)
    attributes = [[window(s, t) for t in range(len(s))] for s in sentences[:300]]
    return Text(attributes, tags[:300])


@pytest.fixture(scope="module")
def letters(ocr_small):
    """60 words of OCR letters, of which few pixels can be seen."""
    X, y = ocr_small
    pixels = [np.asarray(x[:, 5::9], bool) for x in X[:60]]
    attributes = [[[f"p{j}" for j in np.flatnonzero(x)] for x in word] for word in pixels]
    text = Text(attributes, [word.tolist() for word in y[:60]])
    return text, np.vstack(pixels).astype(float)


@pytest.mark.parametrize("c2", [1.0, 0.1])
@pytest.mark.parametrize("features", ["all", "observed"])
def test_chunks_of_text(chunks, tmp_path, features, c2):
    theirs = chunks.crfsuite(tmp_path, c2, features == "all")
    problem = chunks.problem(chunks.rows(), features == "observed")
    chunks.assert_same_optimum(theirs, problem, SDCA(), c2)


@pytest.mark.parametrize("c2", [1.0, 0.1])
def test_letters_with_dense_features(letters, tmp_path, c2):
    text, rows = letters
    theirs = text.crfsuite(tmp_path, c2, all_states=True)
    for solver in SOLVERS.values():
        text.assert_same_optimum(theirs, text.problem(rows), solver, c2)


def made_up():
    """Sequences that need no files."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 5, 40)
    labels = [[f"L{k}" for k in rng.integers(0, 3, length)] for length in lengths]
    attributes = [
        [[f"a{rng.integers(4)}", f"b{rng.integers(5)}", f"with {label}"[: rng.integers(5, 8)]]
         for label in y] for y in labels
    ]  # fmt: skip
    return Text(attributes, labels)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_an_l1_norm_is_its_c1(tmp_path, solver):
    text = made_up()
    theirs = text.crfsuite(tmp_path, 0.5, all_states=True, c1=0.4)
    solution = text.assert_same_optimum(theirs, text.problem(text.rows()), solver, 0.5, 0.4)
    assert 0 < np.count_nonzero(solution.w) < len(solution.w)


def test_the_objective_is_that_of_an_enumeration(tmp_path):
    text = made_up()
    theirs = text.crfsuite(tmp_path, 0.5, all_states=True)
    rows = text.rows()
    for solver in SOLVERS.values():
        solution = text.assert_same_optimum(theirs, text.problem(rows), solver, 0.5)
        ends = np.cumsum(text.lengths)[:-1]
        K, n_features = len(text.names), rows.shape[1]
        reference = Reference(
            np.split(rows.toarray(), ends), np.split(text.truth, ends), K,
            by_feature(n_features, K), n_features * K + K * K, bias=False, boundary=False,
            steps=[np.ones((length - 1, 1)) for length in text.lengths],
        )  # fmt: skip
        value = CRFReference(reference).primal(solution.w, 1.0)
        assert solution.primal == pytest.approx(value, rel=1e-10)
