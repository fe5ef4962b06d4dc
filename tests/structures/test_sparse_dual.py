"""Lists of keys and values in one vector: they come back as they went in, and grow without end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taut.structures import sparse_dual
from taut.structures.sparse_dual import (
    CAPACITY,
    HEAD,
    KEPT,
    LARGEST,
    PER_BLOCK,
    ROOM,
    SIZE,
    START,
    USED,
    Blocks,
    append,
    check_blocks,
    check_truths,
    count,
    drop_zeros,
    has_room,
    has_room_for_all,
    keys_at,
    packed,
    reserve,
    size_of,
    unpacked,
    values_at,
    with_room,
)


def random_blocks(seed, n=None, most=9):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6)) if n is None else n
    sizes = rng.integers(1, most, n)
    kept = np.minimum(rng.integers(1, most, n), sizes)
    keys = np.concatenate([rng.permutation(40)[:size] for size in sizes]).astype(np.int32)
    return Blocks(sizes, kept, keys, rng.normal(size=int(sizes.sum())))


def as_lists(mu):
    """Every block as kernels see it: keys and values, and how many are kept."""
    whole, keys = mu.view(np.int64), mu.view(np.int32)
    found = []
    for i in range(count(mu)):
        value, key, size = values_at(mu, i), keys_at(mu, i), size_of(mu, i)
        kept = whole[HEAD + PER_BLOCK * i + KEPT]
        found.append((keys[key : key + size].tolist(), mu[value : value + size].tolist(), kept))
    return found


def as_expected(blocks):
    ends = np.cumsum(blocks.sizes)
    parts = zip(np.split(blocks.keys, ends[:-1]), np.split(blocks.values, ends[:-1]), blocks.kept,
                strict=True)  # fmt: skip
    return [(keys.tolist(), values.tolist(), kept) for keys, values, kept in parts]


def places(mu):
    """Every number of the pool and to whom it belongs; no two blocks may share one."""
    taken = np.zeros(mu.size, int)
    whole = mu.view(np.int64)
    taken[: HEAD + PER_BLOCK * count(mu)] += 1
    for i in range(count(mu)):
        start, room = whole[HEAD + PER_BLOCK * i + START], whole[HEAD + PER_BLOCK * i + ROOM]
        taken[start : start + room + (room + 1) // 2] += 1
    return taken


def assert_sound(mu):
    whole = mu.view(np.int64)
    taken = places(mu)
    assert taken.max() <= 1
    assert not taken[whole[USED] :].any()
    assert whole[USED] <= whole[CAPACITY] <= mu.size
    assert all(size_of(mu, i) <= whole[LARGEST] for i in range(count(mu)))


@given(st.integers(0, 10**6), st.integers(0, 50))
def test_what_is_packed_comes_out_again(seed, spare):
    blocks = random_blocks(seed)
    mu = packed(blocks, spare)
    assert np.isfinite(mu).all()
    assert_sound(mu)
    assert as_lists(mu) == as_expected(blocks)
    again = unpacked(mu)
    for name in Blocks._fields:
        np.testing.assert_array_equal(getattr(again, name), getattr(blocks, name))
    # A vector without gaps is the same, bit for bit: a checkpoint that was read and saved again.
    assert packed(again).tobytes() == packed(blocks).tobytes()


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_blocks_grow_move_and_shrink_as_lists_do(seed):
    rng = np.random.default_rng(seed)
    blocks = random_blocks(seed)
    mu, expected, most = packed(blocks), as_expected(blocks), 12
    expected = [(list(keys), list(values), kept) for keys, values, kept in expected]
    for _ in range(40):
        i, more = int(rng.integers(blocks.n)), int(rng.integers(1, most + 1))
        if not has_room(mu, most):
            mu = with_room(mu, np.full(blocks.n, 2), most, bool(rng.integers(2)))
            assert has_room(mu, most)
        keys, values, kept = expected[i]
        reserve(mu, i, more)
        for key in rng.integers(0, 2**30, more).tolist():
            value = float(rng.choice([0.0, 1.5, -2.0]))
            append(mu, i, key, value)
            keys.append(key), values.append(value)
        if rng.random() < 0.3:
            drop_zeros(mu, i)
            used = [j for j in range(len(keys)) if j < kept or values[j] != 0.0]
            expected[i] = [keys[j] for j in used], [values[j] for j in used], kept
        assert_sound(mu)
        assert as_lists(mu) == expected
    assert np.isfinite(mu).all()


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_room_for_all_is_enough_for_all(seed):
    """Each takes what it was promised, in any order, and nothing lies over another."""
    rng = np.random.default_rng(seed)
    blocks = random_blocks(seed, n=int(rng.integers(1, 60)))
    more = rng.integers(0, 40, blocks.n)
    mu = with_room(packed(blocks), more, 1, True)
    assert has_room_for_all(mu, more)
    for i in rng.permutation(blocks.n):
        reserve(mu, i, more[i])
        assert mu.view(np.int64)[USED] <= mu.size
        for key in range(more[i]):
            append(mu, i, 1000 + key, 1.0)
    assert_sound(mu)


@given(st.integers(0, 10**6), st.integers(0, 300), st.booleans())
def test_with_room_there_is_room(seed, largest, for_all):
    blocks = random_blocks(seed)
    mu = with_room(packed(blocks, 3), np.full(blocks.n, 2), largest, for_all)
    assert has_room(mu, largest)
    assert as_lists(mu) == as_expected(blocks)


def test_blocks_of_more_examples_follow():
    some, others = random_blocks(1, n=2), random_blocks(2, n=5)
    both = some.followed_by(others, 2)
    assert as_expected(both) == as_expected(some) + as_expected(others)[2:]


# --- what is no dual -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(HEAD + PER_BLOCK))
def test_a_vector_too_short_for_a_block_is_refused(size):
    with pytest.raises(ValueError, match="no vector of blocks"):
        unpacked(np.zeros(size))


@pytest.mark.parametrize("n", [0, -1, 3, 2**31, 2**63 - 1, -(2**63)])
def test_a_count_of_blocks_that_do_not_fit_is_refused(n):
    mu = packed(random_blocks(0, n=2, most=2))
    mu.view(np.int64)[0] = n
    with pytest.raises(ValueError, match="the dual"):
        unpacked(mu)


FAR = (2**63 - 1, 2**62, 2**32, 1000, -1, -(2**63))


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("field", [START, SIZE, ROOM, KEPT])
def test_a_block_that_leads_out_of_the_vector_is_refused(field, far):
    mu = packed(random_blocks(0, n=3))
    mu.view(np.int64)[HEAD + PER_BLOCK + field] = far
    with pytest.raises(ValueError, match="no block can be"):
        unpacked(mu)


def test_many_blocks_in_one_place_are_refused_before_they_fill_the_memory():
    """A small file could ask for a copy of it for each of its numbers."""
    n = 20_000
    mu = np.zeros(HEAD + PER_BLOCK * n + 3 * n)
    whole = mu.view(np.int64)
    whole[0] = n
    whole[HEAD : HEAD + PER_BLOCK * n].reshape(n, PER_BLOCK)[:] = HEAD + PER_BLOCK * n, n, n, 1
    with pytest.raises(ValueError, match="over each other"):
        unpacked(mu)


@settings(max_examples=300)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_any_other_bits_are_refused_or_make_a_vector_of_blocks(seed, changes):
    """Whatever the head says: an error in words, or blocks that kernels can be given."""
    rng = np.random.default_rng(seed)
    mu = packed(random_blocks(seed), int(rng.integers(0, 9)))
    whole = mu.view(np.int64)
    for _ in range(changes):
        at = rng.integers(mu.size)
        whole[at] = rng.choice([int(rng.integers(-3, 60)), int(rng.choice(FAR)),
                                whole[at] ^ int(rng.integers(4))])  # fmt: skip
    try:
        blocks = unpacked(mu)
        check_blocks(blocks, np.full(blocks.n, 40))
    except ValueError as error:
        assert "dual" in str(error)  # noqa: PT017
        return
    assert_sound(packed(blocks))
    assert as_lists(packed(blocks)) == as_expected(blocks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(values=np.array([1.0, np.nan, 1.0])), "finite"),
        (dict(values=np.array([1.0, np.inf, 1.0])), "finite"),
        (dict(keys=np.array([0, -1, 0], np.int32)), "belongs to no label"),
        (dict(keys=np.array([0, 5, 0], np.int32)), "belongs to no label"),
        (dict(keys=np.array([0, 2, 3], np.int32)), "belongs to no label"),
        (dict(keys=np.array([4, 4, 0], np.int32)), "there twice"),
    ],
)
def test_keys_and_values_that_no_dual_has_are_refused(change, message):
    sizes = np.array([2, 1])
    blocks = Blocks(sizes, np.ones(2, int), np.array([0, 4, 0], np.int32), np.ones(3))
    largest = np.array([5, 3])
    check_blocks(blocks, largest)
    with pytest.raises(ValueError, match=message):
        check_blocks(blocks._replace(**change), largest)


@pytest.mark.parametrize(
    "change",
    [
        dict(kept=np.array([2, 1])),
        dict(keys=np.array([4, 0, 0], np.int32)),
        dict(keys=np.array([0, 4, 1], np.int32)),
    ],
)
def test_a_dual_begins_with_the_truth(change):
    blocks = Blocks(np.array([2, 1]), np.array([1, 1]), np.array([0, 4, 0], np.int32), np.ones(3))
    truths = Blocks(np.ones(2, int), np.ones(2, int), np.array([0, 0], np.int32), np.ones(2))
    check_truths(blocks, truths)
    with pytest.raises(ValueError, match="begin with the truth"):
        check_truths(blocks._replace(**change), truths)


def test_keys_are_numbers_that_no_one_takes_for_infinite():
    """Whoever looks whether a dual is finite looks at pairs of keys, too."""
    keys = np.full(2, sparse_dual.MOST_KEYS - 1, np.int32)
    assert np.isfinite(keys.view(np.float64)).all()
