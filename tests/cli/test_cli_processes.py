"""``taut`` as a process: pipes, signals, and what it imports."""

import os
import select
import shlex
import signal
import subprocess
import sys

import pytest
from cli.sentences import ROWS, columns

from taut.chain.file import load_chain
from taut.cli import train
from taut.solvers import Status
from taut.spelling import in_command

TAUT = (sys.executable, "-m", "taut")
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs signals and pipes")


def start(*arguments):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*TAUT, *map(str, arguments)], **pipes)


def test_help_and_version_import_neither_numpy_nor_numba():
    code = (
        "import sys; from taut.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'numba', 'scipy') if m in sys.modules])"
    )
    for option in ("--help", "--version"):
        run = subprocess.run(
            [sys.executable, "-c", code, option], capture_output=True, text=True, check=True
        )
        assert run.stdout.endswith("[]\n")


def test_no_command_imports_scikit_learn(text, tmp_path):
    code = (
        "import sys; from taut.cli import main\n"
        "model, text = sys.argv[1:]\n"
        "codes = []\n"
        "for kind, more in (([], []), (['--crf'], ['--probabilities'])):\n"
        "    codes += [main(['train', text, '-o', model, '--dev', text, '--quiet', *kind]),\n"
        "              main(['tag', '-m', model, text, '-o', text + '.out', *more]),\n"
        "              main(['eval', '-m', model, text]), main(['inspect', model])]\n"
        "print(codes, [m for m in ('sklearn', 'matplotlib') if m in sys.modules])"
    )
    copy = tmp_path / "text"
    copy.write_bytes(text.read_bytes())
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m", copy],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.endswith(f"{8 * [0]} []\n")


def test_exit_codes_reach_the_shell(tmp_path):
    for arguments, code in (("--version", 0), (f"inspect {tmp_path}/none", 1), ("fly", 2)):
        run = subprocess.run([*TAUT, *arguments.split()], capture_output=True, text=True)
        assert run.returncode == code
        assert "Traceback" not in run.stderr


@POSIX
def test_a_sentence_is_answered_before_the_next_has_come(model):
    with start("tag", "-m", model) as process:
        for rows in ROWS[:3]:
            process.stdin.write(columns([rows]).encode())
            process.stdin.flush()
            answer = b""
            while not answer.endswith(b"\n\n"):
                ready, _, _ = select.select([process.stdout], [], [], 120)
                assert ready, "no answer"
                answer += os.read(process.stdout.fileno(), 10_000)
            assert answer.decode() == columns([[(*row, row[2]) for row in rows]])
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, b"", b"")


@POSIX
def test_a_reader_who_has_enough_ends_it_quietly(model, tmp_path):
    text = tmp_path / "long.txt"
    text.write_text(columns(ROWS) * 5000)  # far more than a pipe holds
    with start("tag", "-m", model, text) as process:
        assert process.stdout.readline() == b"the DT B-NP B-NP\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def shell(command, **names):
    """What a shell says to a command with closed or full streams."""
    line = command.format(taut=" ".join(map(shlex.quote, TAUT)), **names)
    run = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


@POSIX
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("tag -m {model} <&-", 1, "standard input is closed; give the path of a file, or a pipe"),
        ("eval -m {model} - <&-", 1, "standard input is closed; give the path"),
        ("tag -m {model} {text} >&-", 1, "standard output is closed, and the result is printed"),
        ("eval -m {model} {text} >&-", 1, "standard output is closed, and the result is printed"),
        ("inspect {model} >&-", 1, "standard output is closed, and the result is printed"),
        ("inspect {model} --weights - >&-", 1, "standard output is closed, and the result"),
        ("train {text} -o {out} --json >&-", 1, "standard output is closed, and the result"),
        ("train {text} --cv 2 >&-", 1, "standard output is closed, and the result is printed"),
        ("tag -m {model} {text} -o {out} <&- >&-", 0, ""),
        ("tag -m {model} {text} -o {out} <&- >&- 2>&-", 0, ""),
        ("inspect {model} --weights {out} >&-", 0, ""),
        ("train {text} -o {out} --template w[0] --quiet <&- >&- 2>&-", 0, ""),
        ("train {text} -o {out} --template w[0] >&-", 0, ""),
        ("inspect none 2>&-", 1, ""),
    ],
)
def test_closed_streams_give_a_line_at_most(model, text, tmp_path, command, code, said):
    out = tmp_path / "out"
    answer = shell("{taut} " + command, model=model, text=text, out=out)
    assert answer[:2] == (code, "")
    assert said in answer[2]
    assert answer[2].count("\n") == (1 if said else 0)
    if code == 0 and "{out}" in command:
        assert out.stat().st_size > 0


@POSIX
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["tag -m {model} {text}", "inspect {model}"])
def test_a_full_disk_behind_standard_output_is_one_line(model, text, command):
    code, _, said = shell("{taut} " + command + " > /dev/full", model=model, text=text)
    assert code == 1
    assert "No space left on device" in said
    assert said.count("\n") == 1


@POSIX
@pytest.mark.parametrize("command", ["--help", "train --help", "inspect {model} --top all"])
def test_help_and_facts_may_be_cut_short(model, command):
    _, _, said = shell("{taut} " + command + " | true", model=model)
    assert said == ""


@POSIX
@pytest.mark.parametrize(
    ("number", "code", "status"),
    [(signal.SIGINT, 130, "INTERRUPTED"), (signal.SIGTERM, 143, "TERMINATED")],
)
def test_signals_save_the_best_model_so_far(text, tmp_path, number, code, status):
    # The process says when it is in the loop of training.
    program = (
        "import sys\n"
        "from taut.cli import main\n"
        "from taut.solvers.progress import Progress\n"
        "Progress.line = lambda *rest: print('training', file=sys.stderr, flush=True)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    model = tmp_path / "m.taut"
    endless = ["--tol", "0", "--max-passes", "1e9", "--solver", "bcfw"]
    arguments = ["train", str(text), "-o", str(model), "--template", "chunking", *endless]
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr.readline() == "training\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert f"taut: note: {Status[status].value[:10]}" in err
    assert "this is the best model so far" in err
    loaded, _ = load_chain(model)
    assert loaded.solution.status.name == status
    assert loaded.solution.text(in_command) in out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_after_training_costs_no_model(taut, text, tmp_path, monkeypatch, number, code):
    kept = train._kept_options

    def signalled(*arguments):
        signal.raise_signal(number)
        return kept(*arguments)

    monkeypatch.setattr(train, "_kept_options", signalled)
    model = tmp_path / "m"
    answer = taut("train", text, "-o", model, "--template", "w[0]")
    assert answer.code == code
    assert load_chain(model)[0].solution.status is Status.CONVERGED


def test_SIGTERM_before_training_is_said(taut, text, tmp_path, monkeypatch):
    def ended(*arguments):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(train, "read_labelled", ended)
    assert taut("train", text, "-o", tmp_path / "m") == (143, "", "taut: terminated\n")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
