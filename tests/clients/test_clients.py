"""The clients' suites, where they were downloaded before: TAUT_CLIENTS names the folder."""

import os
import shutil
from pathlib import Path

import pytest
from clients.run_clients import CLIENTS, count

FOLDER = os.environ.get("TAUT_CLIENTS")
DOWNLOAD = "python tests/clients/run_clients.py --folder FOLDER, with TAUT_CLIENTS=FOLDER"


@pytest.mark.skipif(FOLDER is None, reason=f"no source distributions are there: {DOWNLOAD}")
@pytest.mark.parametrize("name", CLIENTS)
def test_the_clients_own_tests_pass(name, tmp_path):
    folder = tmp_path / "clients"
    shutil.copytree(Path(FOLDER or ""), folder, symlinks=True)
    found = count(CLIENTS[name], folder, with_taut=True)
    assert found.passed > 20
    assert found.failures == ()
