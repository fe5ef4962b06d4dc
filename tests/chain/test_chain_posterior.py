"""What a chain knows beyond the best labelling is what a list of all labellings says, whether its
steps have tables or few weights."""

import numpy as np
import pytest
from crf_reference import CRFReference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sparse_reference import sparse_pair
from taut_reference import chain_pair

from taut.chain.chain_posterior import chains
from taut.constraints import ImpossibleConstraint
from taut.decode import decode
from taut.posterior import posterior, posterior_labels

CASES = {
    "tables": lambda seed: chain_pair([3, 1, 4], 3, seed=seed),
    "step features": lambda seed: chain_pair([3, 1, 4], 3, n_step=2, seed=seed),
    "constrained tables": lambda seed: chain_pair([3, 1, 4], 4, constrained=True, seed=seed),
    "constrained step features": lambda seed: chain_pair(
        [3, 1, 4], 3, n_step=2, constrained=True, seed=seed
    ),
    "sparse steps": lambda seed: sparse_pair([3, 1, 4], 3, seed=seed),
    "no pair": lambda seed: sparse_pair([1, 1], 3, seed=seed),
    "step attributes": lambda seed: sparse_pair([3, 1, 4], 3, n_attributes=3, seed=seed),
    "constrained sparse steps": lambda seed: sparse_pair([3, 1, 4], 4, constrained=True, seed=seed),
    "constrained step attributes": lambda seed: sparse_pair(
        [4, 2, 1], 3, n_attributes=2, constrained=True, seed=seed
    ),
}
laws = lambda test: pytest.mark.parametrize("case", CASES)(  # noqa: E731
    given(seed=st.integers(0, 10**6), temperature=st.sampled_from([1.0, 0.2, 3.0]))(
        settings(max_examples=8)(test)
    )
)


class Listed:
    """A problem, weights, and the distribution over all its labellings."""

    def __init__(self, case, seed, temperature):
        self.problem, reference = CASES[case](seed)
        self.of, self.T = CRFReference(reference, temperature), temperature
        rng = np.random.default_rng(seed)
        self.w = rng.choice([1.0, 30.0]) * rng.normal(size=self.problem.dim)
        self.w[self.problem.held_at_zero()] = 0.0

    def labellings(self, i):
        return np.array(self.of.of.labellings(i))

    def probabilities(self, i):
        return softmax(self.of.values(i, self.w) / self.T)

    def chains(self):
        return enumerate(chains(self.problem, self.w, self.T))


@laws
def test_the_best_labelling_is_the_most_probable(case, seed, temperature):
    listed = Listed(case, seed, temperature)
    parts = np.split(decode(listed.problem, listed.w), listed.problem.pointer[1:-1])
    for i, y in enumerate(parts):
        p, all_y = listed.probabilities(i), listed.labellings(i)
        at = np.flatnonzero((all_y == y).all(1))
        assert p[at[0]] == pytest.approx(p.max(), rel=1e-10)


@laws
@pytest.mark.parametrize("n_threads", [1, 2])
def test_marginals_and_likelihoods_are_those_of_all_labellings(case, n_threads, seed, temperature):
    listed = Listed(case, seed, temperature)
    problem = listed.problem
    node, surprise = posterior(problem, listed.w, temperature, n_threads)
    for i in range(problem.n):
        p, all_y = listed.probabilities(i), listed.labellings(i)
        expected = np.array([p @ (all_y == k) for k in range(problem.n_states)]).T
        found = node[problem.pointer[i] : problem.pointer[i + 1]]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        assert surprise[i] == pytest.approx(listed.of.value(i, listed.w) / temperature, abs=1e-9)


@laws
def test_labels_by_marginals_are_right_most_often(case, seed, temperature):
    """Among the labellings that are possible: those that no table forbids."""
    listed = Listed(case, seed, temperature)
    problem = listed.problem
    labels = posterior_labels(problem, listed.w, temperature)
    for i, y in enumerate(np.split(labels, problem.pointer[1:-1])):
        p, all_y = listed.probabilities(i), listed.labellings(i)
        right = (all_y[:, None] == all_y[None]).sum(2) @ p
        by_itself = np.sum([p @ (all_y[:, t] == y[t]) for t in range(len(y))])
        if problem.closed.size:
            assert (all_y == y).all(1).any()
            assert by_itself == pytest.approx(right.max(), abs=1e-9)
        else:
            best = [max(p @ (all_y[:, t] == k) for k in range(problem.n_states))
                    for t in range(len(y))]  # fmt: skip
            assert by_itself == pytest.approx(np.sum(best), abs=1e-9)


@laws
def test_the_n_best_are_the_first_of_all_in_order(case, seed, temperature):
    listed = Listed(case, seed, temperature)
    for i, chain in listed.chains():
        p, all_y = listed.probabilities(i), listed.labellings(i)
        for count in (1, 4, 1000):
            found, probabilities = chain.best(count)
            possible = np.sort(p)[::-1][:count]
            np.testing.assert_allclose(probabilities, possible, rtol=1e-8, atol=1e-300)
            assert len({tuple(y) for y in found.tolist()}) == len(found)
            for y, probability in zip(found, probabilities, strict=True):
                at = np.flatnonzero((all_y == y).all(1))
                assert p[at[0]] == pytest.approx(probability, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("case", CASES)
def test_samples_are_as_frequent_as_they_are_probable(case):
    """Of 4000 a frequency is off by four standard deviations of 0.008 at most, nearly surely."""
    listed, random = Listed(case, 7, 3.0), np.random.RandomState(0)
    listed.w /= max(1.0, np.abs(listed.w).max())
    for i, chain in listed.chains():
        p, all_y = listed.probabilities(i), listed.labellings(i)
        drawn = chain.drawn(4000, random)
        places = [np.flatnonzero((all_y == y).all(1)) for y in drawn]
        assert all(place.size for place in places)
        found = np.bincount([int(place[0]) for place in places], minlength=len(p)) / len(drawn)
        np.testing.assert_allclose(found, p, rtol=0, atol=0.033)


@pytest.mark.parametrize("case", ["constrained tables", "constrained sparse steps",
                                  "constrained step attributes"])  # fmt: skip
def test_where_nothing_is_possible_an_error_says_where(case):
    problem, _ = CASES[case](39)
    K = problem.n_states
    tables = np.ones(K, bool), np.ones(K, bool), np.zeros((K, K), bool)
    closed = problem.constrained(tables)
    w = np.zeros(problem.dim)
    for ask in (lambda: decode(closed, w), lambda: posterior(closed, w, 1.0)):
        with pytest.raises(ImpossibleConstraint, match="sequence 0, position 1"):
            ask()
