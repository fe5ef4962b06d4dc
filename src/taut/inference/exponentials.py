"""Exponentials of many numbers at once, in vector instructions.

A call of the library's ``exp`` for each number takes longer than all else in forward-backward.
With n the nearest whole number to x / log 2 and |r| <= log(2) / 2 the rest,

    exp(x) = 2^n exp(r),     exp(r) = Σ_k r^k / k!  up to k = 12, wrong by less than 2e-16

Adding 1.5 · 2^52 leaves n in the lowest bits of a number's mantissa; shifted by 52 and added to the
bits of 1.0 they are its exponent, which is 2^n.
"""

import numpy as np

from taut._compile import compiled

LOWEST = -708.0  # below it, exp is nearly too small for a number; here it is zero
SHIFT = 1.5 * 2.0**52
PER_LOG2 = 1.4426950408889634
# log 2 in two parts, the first of few bits: n times it is exact.
LOG2, LOG2_REST = 0.693147180369123816490, 1.90821492927058770002e-10
BITS_OF_ONE = 0x3FF0000000000000
C3, C4, C5, C6, C7 = 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040
C8, C9, C10, C11, C12 = 1 / 40320, 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600


@compiled
def exponentials(scores, sharpness, top, out):
    """out = exp(sharpness · (scores − top)) for scores of at most ``top``; zero below exp(−708)."""
    bits = out.view(np.int64)
    for j in range(scores.size):
        x = max(sharpness * (scores[j] - top), LOWEST)
        out[j] = x * PER_LOG2 + SHIFT
    for j in range(scores.size):
        bits[j] = (bits[j] << 52) + BITS_OF_ONE
    for j in range(scores.size):
        exact = sharpness * (scores[j] - top)
        x = max(exact, LOWEST)
        n = (x * PER_LOG2 + SHIFT) - SHIFT
        r = (x - n * LOG2) - n * LOG2_REST
        high = C8 + r * (C9 + r * (C10 + r * (C11 + r * C12)))
        series = 0.5 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * (C7 + r * high)))))
        out[j] = out[j] * (1.0 + r * (1.0 + r * series)) if exact >= LOWEST else 0.0
