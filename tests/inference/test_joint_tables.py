"""Tables of joint states: marginals, messages and repair, by einsum and by their definitions."""

import numpy as np
import pytest

from taut.inference.joint_tables import (
    make_joint_consistent,
    marginals_of_joint,
    take_from_joint,
)

SIZES = [(2, 2, 2), (4, 4, 4), (2, 3, 5), (3, 1, 2), (2, 2, 2, 2, 2, 2), (1, 1, 1)]
sizes = pytest.mark.parametrize("size", SIZES, ids=str)


def marginals(table):
    axes = range(table.ndim)
    return [table.sum(tuple(other for other in axes if other != axis)) for axis in axes]


def packed(size):
    return np.array(size, np.int32)


@sizes
def test_marginals_are_sums_over_the_other_nodes(size):
    table, out = np.random.default_rng(0).normal(size=size), np.full(sum(size), 7.0)
    marginals_of_joint(table.ravel(), packed(size), out)
    np.testing.assert_allclose(out, np.concatenate(marginals(table)), rtol=0, atol=1e-14)


@sizes
def test_messages_are_taken_from_every_joint_state(size):
    rng = np.random.default_rng(1)
    table, messages = rng.normal(size=size), rng.normal(size=sum(size))
    expected = table.copy()
    for axis, message in enumerate(np.split(messages, np.cumsum(size)[:-1])):
        expected -= message.reshape([-1 if j == axis else 1 for j in range(len(size))])
    found = table.ravel().copy()
    take_from_joint(messages, packed(size), found)
    np.testing.assert_allclose(found, expected.ravel(), rtol=0, atol=1e-14)


def repaired(table, wanted):
    found, size = table.ravel().copy(), table.shape
    joined = np.concatenate(wanted)
    make_joint_consistent(found, packed(size), joined, np.zeros(sum(size)))
    return found.reshape(size)


@sizes
@pytest.mark.parametrize("sharpness", [1.0, 0.05], ids=["inside", "near corners"])
def test_a_repaired_table_has_the_marginals_wanted(size, sharpness):
    rng = np.random.default_rng(2)
    for _ in range(20):
        table = rng.dirichlet(np.full(np.prod(size), sharpness)).reshape(size)
        wanted = [rng.dirichlet(np.full(k, sharpness)) for k in size]
        found = repaired(table, wanted)
        assert found.min() >= 0.0
        for ours, theirs in zip(marginals(found), wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14)


@sizes
def test_a_consistent_table_is_left_as_it_is(size):
    table = np.random.default_rng(3).dirichlet(np.ones(np.prod(size))).reshape(size)
    np.testing.assert_allclose(repaired(table, marginals(table)), table, rtol=0, atol=1e-15)


def test_corners_become_other_corners():
    table = np.zeros((2, 3, 2))
    table[0, 1, 0] = 1.0
    found = repaired(table, [np.eye(2)[1], np.eye(3)[2], np.eye(2)[0]])
    assert found[1, 2, 0] == 1.0
    assert found.sum() == 1.0


def test_rounding_of_what_is_missing_is_not_magnified():
    """Here the first node misses 1e-30 and the others 1e-16: shares of one are no shares of all."""
    table = np.zeros((2, 2, 2, 2))
    table[0, 0, 0, 0] = 1.0
    wanted = [np.array([1.0, 1e-30]), *[np.array([1.0 - 1e-16, 1e-16])] * 3]
    found = repaired(table, wanted)
    for ours, theirs in zip(marginals(found), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-16)
