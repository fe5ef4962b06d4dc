"""Generalised distance transform: the best place for a part that hangs on a spring.

For scores f on a line, a spring with curvature a >= 0, slope b (of either sign) and offset o,

    value[q] = max_x f[x] - a d^2 - b d,   d = x - (q + o)

for all q at once, in time linear in the length. Expanded, the curve of x is

    f[x] - (b + a x) x  +  2 a x z  +  terms without x,   z = q + o,

so the curves are lines in z whose slopes grow with x: the upper envelope is built from left to
right, a curve replacing those before it that it overtakes, and read off at the points z. Any real
offset is exact. With a = 0 all slopes agree, and one x is best for every q.

On a grid the cost is a sum over the two axes, so rows are transformed first, columns after. Columns
are copied to contiguous memory a cache line's width at a time: the cost of a position does not
depend on the size of the grid.

A score of minus infinity forbids a position. Where every position is forbidden the value is minus
infinity and the place means nothing. Among equal values the choice is always the same one.

Reference: Felzenszwalb, Huttenlocher (2012), Distance transforms of sampled functions.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import LabelMatrix, Labels, Matrix, Vector, by_reference, compiled

# Columns transformed together: 64 bytes of double precision.
LANES = 8
# Curvatures that change no score by more than this, anywhere on the line, count as 0: their inverse
# might overflow.
FLAT = 1e-290


@by_reference
class TransformWork(NamedTuple):
    """Scratch memory for lines of up to so many positions."""

    inverse: Vector  # 1 / j
    centre: Labels  # positions on the envelope, from left to right
    start: Vector  # the z from which the curve of each is the best
    level: Vector  # height of its line at z = 0
    column: Matrix  # (LANES, size) columns, their values and places in contiguous memory
    column_value: Matrix
    column_place: LabelMatrix


def new_transform_work(height: int, width: int) -> TransformWork:
    """Scratch memory for grids of up to this height and width.

    >>> new_transform_work(3, 5).start.shape
    (5,)
    """
    longest = max(height, width)
    # Lanes whose distance is a power of two would compete for the same lines of the cache.
    apart = height + 8
    return TransformWork(
        inverse=1.0 / np.maximum(np.arange(longest), 1),
        centre=np.zeros(longest, np.int32),
        start=np.zeros(longest),
        level=np.zeros(longest),
        column=np.zeros((LANES, apart)),
        column_value=np.zeros((LANES, apart)),
        column_place=np.zeros((LANES, apart), np.int32),
    )


@compiled
def distance_transform(score, across, down, work, value, row, column):
    """value[y, x] = max_(r, c) score[r, c] - cost of the spring from (y, x) to (r, c).

    ``across`` and ``down`` are (curvature, slope, offset) of the two axes. The best place for
    (y, x) is in row r = ``row[y, x]``, and there in column ``column[r, x]``.
    """
    height, width = score.shape
    for y in range(height):
        transform_line(score[y], across, work, value[y], column[y])
    for first in range(0, width, LANES):
        lanes = min(LANES, width - first)
        for y in range(height):
            for j in range(lanes):
                work.column[j, y] = value[y, first + j]
        for j in range(lanes):
            transform_line(
                work.column[j, :height],
                down,
                work,
                work.column_value[j, :height],
                work.column_place[j, :height],
            )
        for y in range(height):
            for j in range(lanes):
                value[y, first + j] = work.column_value[j, y]
                row[y, first + j] = work.column_place[j, y]


@compiled
def transform_line(score, spring, work, value, place):
    """value[q] = max_x score[x] - cost of the spring from q to x, and the x that attains it."""
    curvature, slope, offset = spring
    if curvature * score.size * score.size < FLAT:
        _transform_flat(score, slope, offset, value, place)
        return
    centre, start = work.centre, work.start
    top = _envelope(score, curvature, slope, work)
    if top < 0:
        value[:] = -np.inf
        place[:] = 0
        return
    q = 0
    for k in range(top + 1):
        end = score.size
        if k < top:
            end = int(min(max(np.floor(start[k + 1] - offset) + 1.0, 0.0), float(score.size)))
        x = centre[k]
        best, anchor = score[x], x - offset
        while q < end:
            d = anchor - q
            value[q] = best - d * (slope + curvature * d)
            place[q] = x
            q += 1


@compiled
def _envelope(score, curvature, slope, work):
    """Fill centre and start with the curves of the envelope; the number of the last, -1 if none."""
    inverse, centre, start, level = work.inverse, work.centre, work.start, work.level
    half = 0.5 / curvature
    top = -1
    for x in range(score.size):
        if score[x] == -np.inf:
            continue
        height = score[x] - x * (slope + curvature * x)
        begins = -np.inf
        while top >= 0:
            # Where the line of x, the steeper one, crosses the last line of the envelope.
            begins = (level[top] - height) * (half * inverse[x - centre[top]])
            if begins > start[top]:
                break
            top -= 1
            begins = -np.inf
        top += 1
        centre[top] = x
        start[top] = begins
        level[top] = height
    return top


@compiled
def _transform_flat(score, slope, offset, value, place):
    """The transform without curvature: the same x is best everywhere."""
    best = 0
    for x in range(1, score.size):
        if score[x] - slope * x > score[best] - slope * best:
            best = x
    for q in range(score.size):
        value[q] = score[best] - slope * (best - (q + offset))
        place[q] = best
