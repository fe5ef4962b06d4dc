"""What ``import taut`` promises."""

import subprocess
import sys

import pytest

import taut


def test_import_loads_nothing_heavy():
    code = "import sys, taut; print([m for m in ('numba', 'sklearn', 'scipy') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_public_names():
    assert set(taut.__all__) == set(dir(taut))
    for name in taut.__all__:
        assert getattr(taut, name) is not None
    with pytest.raises(AttributeError, match="module 'taut' has no attribute 'SVM'"):
        taut.SVM  # noqa: B018
