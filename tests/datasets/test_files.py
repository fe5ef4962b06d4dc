"""What happens when the data folder is missing."""

from functools import partial

import pytest

from taut.datasets import (
    data_home,
    load_conll2000,
    load_horses,
    load_mulan,
    load_ocr_letters,
    load_rcv1,
    load_snakes,
    load_stanford,
    load_usps,
    stanford_image,
)

FIRST_FILES = {
    "ocr_letters/letter.data.gz": load_ocr_letters,
    "conll2000/train.txt.gz": load_conll2000,
    "usps/usps.npz": load_usps,
    "multilabel/yeast.xml": partial(load_mulan, "yeast"),
    "rcv1/rcv1subset1.svm.gz": load_rcv1,
    "snakes/snakes.npz": load_snakes,
    "stanford_background/superpixels_99.npz": load_stanford,
    "stanford_background/images_99.tar": partial(stanford_image, "0000047"),
    "weizmann_horse/rgb.tar": load_horses,
}


def test_the_argument_wins_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUT_DATA", "elsewhere")
    assert data_home(tmp_path) == tmp_path


def test_the_environment_is_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUT_DATA", str(tmp_path))
    assert data_home() == tmp_path


@pytest.mark.parametrize("load", FIRST_FILES.values(), ids=FIRST_FILES)
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


@pytest.mark.parametrize("file", FIRST_FILES)
def test_a_missing_file_is_named(file, tmp_path):
    with pytest.raises(FileNotFoundError, match=file):
        FIRST_FILES[file](data_home=tmp_path)
