"""USPS: 16 x 16 grey images of handwritten digits (LeCun et al., 1990)."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from taut.datasets._arrays import check_integers, read_arrays
from taut.datasets._files import find_file

N_PIXELS = 256


def load_usps(
    data_home: str | os.PathLike[str] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Load the USPS digits: 7,291 training and 2,007 test images of ten classes.

    Parameters
    ----------
    data_home : path, optional
        The folder that contains ``usps/usps.npz``; by default the environment variable
        ``TAUT_DATA``.

    Returns
    -------
    X_train, y_train, X_test, y_test : arrays
        Images of shape (n, 256), 16 rows of 16 pixels in [-1, 1], and digits of shape (n,).

    Examples
    --------
    >>> X_train, y_train, X_test, y_test = load_usps()  # doctest: +SKIP
    >>> X_train.shape, X_test.shape  # doctest: +SKIP
    ((7291, 256), (2007, 256))
    """
    path = find_file(data_home, "usps/usps.npz")
    images_train, y_train, images_test, y_test = read_arrays(
        path, "X_train_times_1000", "y_train", "X_test_times_1000", "y_test"
    )
    for name, images in (("X_train", images_train), ("X_test", images_test)):
        check_integers(path, f"{name}_times_1000", images, -1000, 1000)
    for name, digits in (("y_train", y_train), ("y_test", y_test)):
        check_integers(path, name, digits, 0, 9)
    X_train, X_test = images_train / 1000.0, images_test / 1000.0
    for X, y in ((X_train, y_train), (X_test, y_test)):
        if y.ndim != 1 or X.shape != (len(y), N_PIXELS):
            raise ValueError(
                f"{path}: images of shape {X.shape} do not match digits of shape {y.shape}; "
                f"expected (n, {N_PIXELS}) and (n,)"
            )
    return X_train, y_train.astype(np.int64), X_test, y_test.astype(np.int64)
