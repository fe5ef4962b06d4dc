"""Files appear whole or not at all."""

import os
import shutil
import stat
import subprocess
import sys

import pytest

from taut.files.atomic import atomic_write, check_writable


def write(path, content=b"new"):
    with atomic_write(path) as file:
        file.write(content)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_nothing_but_the_file_is_left(tmp_path):
    write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "file"
    write(path, b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_everything_as_it_was(tmp_path, error):
    path = tmp_path / "file"
    write(path, b"old")

    def fail_halfway():
        with atomic_write(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail_halfway()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_open_file_keeps_its_contents(tmp_path):
    path = tmp_path / "file"
    write(path, b"old")
    with open(path, "rb") as reader:
        write(path)
        assert reader.read() == b"old"


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    for mask, expected in [(0o022, 0o644), (0o077, 0o600)]:
        path = tmp_path / f"{mask}"
        before = os.umask(mask)
        try:
            write(path)
        finally:
            os.umask(before)
        assert mode(path) == expected


def test_a_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o640)
    write(path)
    assert mode(path) == 0o640


def test_nobody_else_reads_what_will_replace_a_private_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o600)
    modes = []

    def copy_mode(source, target):
        modes.append(mode(target))
        copymode(source, target)

    copymode = shutil.copymode
    monkeypatch.setattr(shutil, "copymode", copy_mode)
    before = os.umask(0o022)
    try:
        with atomic_write(path):
            [temporary] = tmp_path.glob(".*.part")
            modes.append(mode(temporary))
    finally:
        os.umask(before)
    assert modes == [0o600, 0o600]  # when it is created, and before anything is written


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to("file")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    write(tmp_path / ("n" * 255))
    assert os.listdir(tmp_path) == ["n" * 255]


@pytest.mark.parametrize("check", [write, check_writable])
def test_impossible_targets_are_explained(tmp_path, check):
    with pytest.raises(IsADirectoryError, match="it is a folder; name a file"):
        check(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere' does not exist; create it first"):
        check(tmp_path / "nowhere" / "file")
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="file' does not exist; create it first"):
        check(tmp_path / "file" / "below")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a device or pipe; name an ordinary file"):
        check(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


# Root may write anywhere, so these two say "no" in the system's place.
@pytest.mark.parametrize("check", [write, check_writable])
def test_missing_permission_is_explained(tmp_path, check, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(PermissionError, match="no permission to create files in"):
        check(tmp_path / "file")


@pytest.mark.parametrize("check", [write, check_writable])
def test_a_protected_file_is_not_replaced(tmp_path, check, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda tried, _: tried != path)
    with pytest.raises(PermissionError, match="the file is write-protected"):
        check(path)
    assert path.read_bytes() == b"old"


@pytest.fixture
def dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.skipif(os.name != "posix", reason="asks whether a process lives")
def test_what_a_killed_process_left_is_removed(tmp_path, dead_process):
    """Nothing else is: not of live processes, other hosts, other files, or of older versions."""
    with atomic_write(tmp_path / "file"):
        [own] = (path.name for path in tmp_path.glob(".*.part"))
    stem, host, process, token = own.removesuffix(".part").rsplit(".", 3)
    assert (stem, int(process)) == (".file", os.getpid())
    kept = [
        own,
        f".file.{token}.part",
        f".file.00000000.{dead_process}.{token}.part",
        f".other.{host}.{dead_process}.{token}.part",
    ]
    for name in [*kept, f".file.{host}.{dead_process}.{token}.part"]:
        (tmp_path / name).touch()
    write(tmp_path / "file")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "file"])
