"""Machine code on disk is found again, never believed blindly, and done once."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from taut._compile import cache, places, sources
from taut._compile.modes import PLAIN

pytestmark = pytest.mark.skipif(PLAIN, reason="plain numba keeps nothing on disk")

# Two small kernels; prints their results and what had to be compiled.
SCRIPT = """
import json
import numpy as np
from taut._compile import cache
from taut.solvers.sampling import set_all_gaps, set_gap
tree = np.zeros(8)
set_all_gaps(tree, np.array([1.0, 2.0, 4.0]))
set_gap(tree, 0, 3.0)
compiled = sorted(what.partition("(")[0] for what, new in cache.used.items() if new)
print(json.dumps([tree.tolist(), compiled]))
"""
BEFORE: list[str] = []  # of the command line of a new process
TREE = [0.0, 9.0, 5.0, 4.0, 3.0, 2.0, 4.0, 0.0]
BOTH = ["taut.solvers.sampling.set_all_gaps", "taut.solvers.sampling.set_gap"]


def start(folder: Path | None, **environment: str | None) -> subprocess.Popen:
    """The script in a new process; a variable of value None is not set there."""
    wanted = {**os.environ, "TAUT_CACHE_DIR": folder and str(folder), **environment}
    clean = {name: value for name, value in wanted.items() if value is not None}
    return subprocess.Popen(
        [*BEFORE, sys.executable, "-c", SCRIPT],
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=environment.get("PWD"),
    )


def finish(process: subprocess.Popen) -> tuple[list[str], str]:
    """What it compiled, and what it said."""
    out, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    tree, compiled = json.loads(out)
    assert tree == TREE
    return compiled, said


def run(folder: Path | None, **environment: str | None) -> tuple[list[str], str]:
    return finish(start(folder, **environment))


@pytest.fixture(scope="module")
def warm(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("warm")
    assert run(folder) == (BOTH, "")
    return folder


def units(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.unit"))


def test_a_second_process_compiles_nothing_and_changes_nothing(warm):
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in units(warm)}
    assert len(before) == 2
    assert run(warm) == ([], "")
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in units(warm)} == before


def test_several_processes_on_an_empty_cache_do_the_work_once(tmp_path):
    answers = [finish(process) for process in [start(tmp_path) for _ in range(4)]]
    assert sorted(what for compiled, _ in answers for what in compiled) == BOTH
    assert {said for _, said in answers} == {""}
    assert (
        sorted(path.suffix for path in tmp_path.iterdir() if path.name != "lock") == [".unit"] * 2
    )


HOLD = """
import sys
from pathlib import Path
from taut._compile import cache
with cache.locked(Path(sys.argv[1]), "0" * 40):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_nobody_waits_for_a_stopped_process_for_ever(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(cache, "TELLS_AFTER", 0.05)
    monkeypatch.setattr(cache, "MOST_SECONDS", 0.2)
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], **pipes) as holder:
        assert holder.stdout.readline() == b"locked\n"
        with cache.locked(tmp_path, "1" * 40):  # another unit
            assert not caplog.records
        with cache.locked(tmp_path, "0" * 40):
            said = [record.getMessage() for record in caplog.records]
        assert said == [
            "taut: waiting for another process that compiles the same code, for at most 0 seconds",
            "taut: not waiting for the other process any longer",
        ]
        holder.stdin.close()
        holder.wait()
        with cache.locked(tmp_path, "0" * 40):
            assert len(caplog.records) == 2


DAMAGES = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "half": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "one byte more": lambda content: content + b"\0",
    "nothing but zeros": lambda content: bytes(len(content)),
    "of another version": lambda content: content.replace(b"code 1", b"code 0", 1),
    "not a cache file": lambda content: b"\x7fELF" + content,
}


def test_damaged_files_are_compiled_anew_with_a_note(warm, tmp_path):
    for path, damage in zip(units(warm), ("empty", "half"), strict=True):
        (tmp_path / path.name).write_bytes(DAMAGES[damage](path.read_bytes()))
    compiled, said = run(tmp_path)
    assert compiled == BOTH
    assert said.count("it is damaged") == 2
    assert run(tmp_path) == ([], "")


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_is_noticed_and_repaired(warm, tmp_path, monkeypatch, caplog, damage):
    monkeypatch.setattr(places, "folders", lambda: [tmp_path])
    times = []

    def unit() -> cache.Unit:
        def make() -> cache.Made:
            times.append(1)
            return _code(warm)

        return cache.unit("something", ["taut.solvers.sampling"], make, bool_of)

    unit()
    (path,) = units(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    assert unit().function("call")
    assert [record.getMessage().endswith("it is damaged") for record in caplog.records] == [True]
    assert path.read_bytes() == whole
    assert unit().function("call")
    assert len(times) == 2
    assert len(caplog.records) == 1


def test_every_flipped_bit_is_noticed(warm):
    """The whole header, and the object file here and there."""
    content = units(warm)[0].read_bytes()
    assert cache._opened(content) is not None
    for at in [*range(400), *range(400, len(content), 97), len(content) - 1]:
        for bit in (0, 7):
            changed = bytearray(content)
            changed[at] ^= 1 << bit
            assert cache._opened(bytes(changed)) is None, at


def test_a_folder_in_the_place_of_a_file_is_no_obstacle(warm, tmp_path):
    for path in units(warm):
        (tmp_path / path.name).mkdir()
    compiled, said = run(tmp_path)
    assert compiled == BOTH
    assert "compiling anew" in said


# --- who may write there --------------------------------------------------------------------------


def test_folders_are_made_for_their_owner_alone(tmp_path):
    run(tmp_path / "deep" / "folder")
    assert (tmp_path / "deep" / "folder").stat().st_mode & 0o777 == 0o700
    assert all(
        path.stat().st_mode & 0o022 == 0 for path in (tmp_path / "deep" / "folder").iterdir()
    )


def test_a_folder_that_others_may_write_to_is_refused(warm, tmp_path):
    for path in units(warm):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    spare = tmp_path / "tmp"
    spare.mkdir()
    for mode in (0o777, 0o770):
        tmp_path.chmod(mode)
        _, said = run(tmp_path, TMPDIR=str(spare))
        assert "others may write to it" in said
        assert "chmod go-w" in said
    tmp_path.chmod(0o755)
    assert run(tmp_path) == ([], "")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root")
def test_what_belongs_to_another_user_is_refused(warm, tmp_path):
    for path in units(warm):
        (tmp_path / path.name).write_bytes(path.read_bytes())
        os.chown(tmp_path / path.name, 12345, 12345)
    compiled, said = run(tmp_path)
    assert compiled == BOTH
    assert said.count("it belongs to another user (number 12345)") == 2
    os.chown(tmp_path, 12345, 12345)
    assert "it belongs to another user" in run(tmp_path, TMPDIR=str(tmp_path))[1]


def test_a_file_that_others_may_write_to_is_refused(warm, tmp_path):
    for path in units(warm):
        (tmp_path / path.name).write_bytes(path.read_bytes())
        (tmp_path / path.name).chmod(0o666)
    compiled, said = run(tmp_path)
    assert compiled == BOTH
    assert said.count("others may write to it") == 2


# --- where it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["XDG_CACHE_HOME", "TAUT_CACHE_DIR"])
def test_an_empty_variable_counts_as_unset(tmp_path, name):
    """Otherwise ``./taut`` of whatever folder one is in would be trusted."""
    elsewhere = {"XDG_CACHE_HOME": None, "TAUT_CACHE_DIR": None, name: ""}
    work = tmp_path / "work"
    work.mkdir()
    run(None, HOME=str(tmp_path), PWD=str(work), **elsewhere)
    assert not list(work.iterdir())
    assert len(units(tmp_path / ".cache" / "taut")) == 2


def test_a_relative_cache_home_is_not_trusted_either(tmp_path):
    run(None, HOME=str(tmp_path), PWD=str(tmp_path), TAUT_CACHE_DIR=None, XDG_CACHE_HOME="here")
    assert not (tmp_path / "here").exists()


def test_without_a_place_of_ones_own_a_temporary_folder_is_used_again(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    spare = tmp_path / "tmp"
    spare.mkdir()
    for expected in (BOTH, []):
        compiled, said = run(blocked / "cache", TMPDIR=str(spare))
        assert compiled == expected
        assert "machine code cannot be kept in" in said
    (folder,) = spare.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(units(folder)) == 2


@pytest.fixture
def without_privileges(monkeypatch):
    """The administrator may write anywhere; not so these processes."""
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("as root it needs setpriv")
        privileges = "--bounding-set=-dac_override,-dac_read_search"
        monkeypatch.setattr(sys.modules[__name__], "BEFORE", ["setpriv", privileges])


@pytest.mark.skipif(sys.platform == "win32", reason="of the permissions of Unix")
def test_a_read_only_home_falls_back_to_one_folder_without_a_word(tmp_path, without_privileges):
    home, spare = tmp_path / "home", tmp_path / "tmp"
    home.mkdir(mode=0o500)
    spare.mkdir(mode=0o700)
    where = {"HOME": str(home), "TMPDIR": str(spare), "XDG_CACHE_HOME": None}
    assert run(None, TAUT_CACHE_DIR=None, **where) == (BOTH, "")
    assert run(None, TAUT_CACHE_DIR=None, **where) == ([], "")
    (folder,) = spare.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(home.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="of the permissions of Unix")
def test_a_folder_that_can_only_be_read_is_used(warm, tmp_path, without_privileges):
    folder, spare = tmp_path / "cache", tmp_path / "tmp"
    shutil.copytree(warm, folder)
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    spare.mkdir(mode=0o500)  # nor is there any other place
    assert run(folder, TMPDIR=str(spare)) == ([], "")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="of the permissions of Unix")
@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda place, other: place.symlink_to(other), "it is a link"),
        (lambda place, other: place.write_text(""), "it is not a folder"),
        (lambda place, other: (place.mkdir(), place.chmod(0o755)), "it is open to others"),
        (lambda place, other: place.parent.chmod(0o777), "others may rename what is not theirs"),
    ],
)  # fmt: skip
def test_a_temporary_folder_that_another_prepared_is_refused(
    harm, why, tmp_path, monkeypatch, caplog
):
    spare, other = tmp_path / "tmp", tmp_path / "other"
    spare.mkdir(mode=0o700)
    other.mkdir(mode=0o700)
    harm(spare / f"taut-cache-{os.getuid()}", other)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(spare))
    monkeypatch.setattr(places, "_wanted", lambda: None)
    assert places.folders.__wrapped__() == []
    assert why in caplog.text
    assert list(other.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root")
@pytest.mark.parametrize("whose", ["the folder", "the folder around it"])
def test_a_temporary_folder_of_another_user_is_refused(whose, tmp_path, monkeypatch, caplog):
    place = tmp_path / f"taut-cache-{os.getuid()}"
    place.mkdir(mode=0o700)
    os.chown(place if whose == "the folder" else tmp_path, 12345, 12345)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(places, "_wanted", lambda: None)
    assert places.folders.__wrapped__() == []
    assert "belongs to another user (number 12345)" in caplog.text


def test_who_owns_the_program_may_own_its_machine_code(warm, monkeypatch):
    """In a container both were made by the user who built it, and are run by another one."""
    found = warm.stat()
    values = list(found)
    values[4] = found.st_uid + 1
    builder = os.stat_result(values)
    assert "another user" in places.distrust(builder)
    monkeypatch.setattr(places, "_trusted", lambda: frozenset({found.st_uid, builder.st_uid}))
    assert places.distrust(builder) == ""
    monkeypatch.undo()
    assert Path(places.__file__).stat().st_uid in places._trusted()


def test_a_user_without_home_gets_the_temporary_folder(monkeypatch, tmp_path):
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("TAUT_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert [folder.parent for folder in places.folders.__wrapped__()] == [tmp_path]


def test_what_can_be_read_is_used_where_nothing_can_be_written(warm, monkeypatch, caplog):
    """A folder that an administrator has filled, or a read-only disk."""
    real = os.open

    def read_only(path, flags, *more, **how):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *more, **how)

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(places, "folders", lambda: [warm])
    what = cache.entries()[0][0]
    assert what.startswith(BOTH[0])
    unit = cache.unit(what, ["taut.solvers.sampling"], lambda: pytest.fail("it is there"), bool_of)
    assert unit.function("call")
    assert not cache.used[what]
    # What is not there is made, and the attempt to keep it harms nothing.
    made = cache.unit("another", ["taut.solvers.sampling"], lambda: _code(warm), bool_of)
    assert made.function("call")
    assert len(units(warm)) == 2
    assert not caplog.records


def bool_of(uses: dict[str, int]) -> bool:
    return not uses  # these kernels call no problem


def _code(folder: Path) -> tuple[bytes, dict[str, int]]:
    found = cache.read(units(folder)[0])
    assert found is not None
    return found


# --- what it depends on ---------------------------------------------------------------------------


def test_code_depends_on_what_its_module_imports_and_on_nothing_else():
    sampling, corrective = (
        sources.closure(f"taut.solvers.{name}") for name in ("sampling", "corrective")
    )
    assert "taut._compile.linking" in sampling
    assert not any("structures" in name or "estimators" in name for name in corrective)
    assert {"taut.problem", "taut.solvers.corners", "taut.arrays.accumulator"} <= corrective
    assert "taut.inference.viterbi" in sources.closure("taut.structures.pairwise")
    assert not any("solvers" in name for name in sources.closure("taut.structures.pairwise"))


def test_what_is_not_of_taut_is_not_kept():
    assert sources.digest(["taut.problem"]) is not None
    assert sources.digest(["taut.problem", __name__]) is None
    assert sources.digest(["__main__"]) is None


def test_old_and_unfinished_files_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "MOST_BYTES", 1000)
    now = time.time()

    def put(name: str, days: float, size: int = 100) -> None:
        (tmp_path / name).write_bytes(bytes(size))
        os.utime(tmp_path / name, (now - 86400 * days,) * 2)

    a, b, c, d = (f"{letter * 40}.unit" for letter in "abcd")
    put(a, 100)  # long unused
    put(b, 10, 950)  # too much beside the newer ones
    put(c, 1)
    put(d, 0)
    put("thesis.unit", 1000)  # somebody else's
    put(".c.0123.part", 2)  # a crash
    put(".d.0123.part", 0)  # perhaps being written
    put("mine.txt", 1000)
    cache.prune(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {c, d, ".d.0123.part", "mine.txt", "thesis.unit"}


def test_what_is_there_can_be_listed(warm, monkeypatch):
    monkeypatch.setattr(places, "folders", lambda: [warm])
    found = cache.entries()
    assert [what.partition("(")[0] for what, _, _ in found] == BOTH
    assert sum(size for _, size, _ in found) == sum(path.stat().st_size for path in units(warm))
    assert all(abs(used - time.time()) < 3600 for _, _, used in found)


def test_nothing_in_a_file_is_a_pickle(warm):
    for path in units(warm):
        opened = cache._opened(path.read_bytes())
        assert opened is not None
        assert sorted(opened[0]) == ["name", "uses", "what"]
        assert opened[1].startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"d\x86"))  # object files


def test_a_file_under_another_name_is_damaged(warm, tmp_path):
    one, other = units(warm)
    (tmp_path / one.name).write_bytes(other.read_bytes())
    (tmp_path / other.name).write_bytes(one.read_bytes())
    compiled, said = run(tmp_path)
    assert compiled == BOTH
    assert said.count("it is damaged") == 2


def test_what_was_edited_since_it_was_imported_is_not_kept(monkeypatch):
    """It would be found by processes that run the new source."""
    assert sources.digest(["taut.problem"]) is not None
    monkeypatch.setattr(sources, "STARTED", 0.0)
    assert sources.digest(["taut.problem"]) is None


def test_settings_that_change_machine_code_are_part_of_its_name(warm, tmp_path):
    for path in units(warm):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert run(tmp_path, NUMBA_BOUNDSCHECK="1") == (BOTH, "")
    assert run(tmp_path, NUMBA_BOUNDSCHECK="1") == ([], "")
    assert run(tmp_path) == ([], "")
