"""What happens when the data folder is missing."""

import pytest

from taut.datasets import data_home, load_conll2000, load_ocr_letters, load_usps


def test_the_argument_wins_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUT_DATA", "elsewhere")
    assert data_home(tmp_path) == tmp_path


def test_the_environment_is_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUT_DATA", str(tmp_path))
    assert data_home() == tmp_path


@pytest.mark.parametrize("load", [load_ocr_letters, load_conll2000, load_usps])
def test_without_a_folder_the_error_says_how_to_name_one(load, monkeypatch):
    monkeypatch.delenv("TAUT_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"TAUT_DATA .* data_home"):
        load()


def test_a_folder_that_does_not_exist_is_named(monkeypatch):
    monkeypatch.setenv("TAUT_DATA", "no/such/folder")
    with pytest.raises(FileNotFoundError, match=r"TAUT_DATA names 'no/such/folder'"):
        data_home()
    with pytest.raises(FileNotFoundError, match=r"data_home names 'nor/this'"):
        data_home("nor/this")


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (load_ocr_letters, "ocr_letters/letter.data.gz"),
        (load_conll2000, "conll2000/train.txt.gz"),
        (load_usps, "usps/usps.npz"),
    ],
)
def test_a_missing_file_is_named(load, file, tmp_path):
    with pytest.raises(FileNotFoundError, match=file):
        load(data_home=tmp_path)
