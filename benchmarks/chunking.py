"""CoNLL-2000 chunking against python-crfsuite: cost of a pass, memory, and time to a good model.

Why: text chunking is what people train linear-chain models for, and CRFsuite is the fast program
for it. Three questions, each answered in one process so that ratios share the machine's noise:

1. What does one plain BCFW pass cost (8,936 oracle calls, steps and updates), against one iteration
   of CRFsuite's averaged perceptron, which does the same work without a step size?
   Rounds of both alternate; CPU seconds; the first passes (compilation, cold memory) do not count.
2. How large is the training state beyond data and weights?
3. How long until the averaged model is good? C and the number of passes are chosen on held-out
   *training* sentences: the best mean F1 decides C, then the fewest passes within 0.05 of it (what
   another shuffle moves the score by). Only then is the test set scored, over several shuffles.
   Training time includes building the problem, as CRFsuite's includes generating features.

Targets: half a perceptron iteration; 120 MB; F1 93.5 in 1/30 of L-BFGS's time and 1/2 of pa's.
"""

import common  # first: it limits threads before numpy starts
import conll
import numpy as np
import peers_conll
from common import chunking_problem, cpu_seconds, new_run, part, score_chunks, table

from taut import ChainSVM, Sequences
from taut.solvers import BCFW

GRID = (0.002, 0.004, 0.01, 0.02, 0.05)
PASSES = 12
ENOUGH_WITHIN = 0.05
N_FOLDS = 3
KINDS = {"observed": True, "all": False}


def pass_cost(data: conll.Encoded, peer_data: peers_conll.Data, rounds: int) -> None:
    """Alternate rounds of taut's passes and of perceptron iterations."""
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    memory: dict[str, tuple[float, float]] = {}
    perceptron: list[float] = []
    runs = {}
    for kind, observed in KINDS.items():
        problem = chunking_problem(data.train, data.n_train_tags, observed)
        runs[kind] = new_run(problem, BCFW(order="permuted", refresh=None), C=0.01)
        runs[kind].advance(2 * runs[kind].n)
        state = runs[kind].state
        weights = common.megabytes(state.w)
        memory[kind] = (weights, common.megabytes(state) - weights)
    for _ in range(rounds):
        for kind, run in runs.items():
            for _ in range(5):
                with cpu_seconds() as seconds:
                    run.advance(run.n)
                times[kind].append(seconds())
        figures = peers_conll.run("ap", {"max_iterations": 5}, peer_data)
        perceptron.append(figures["seconds_per_iteration"])
    peer = float(np.median(perceptron))
    table(
        ["one pass", "CPU s", "range", "of a perceptron iteration", "weights MB", "state MB"],
        [
            ["crfsuite ap", peer, _range(perceptron), 1.0, None, None],
            *(
                [f"taut {kind}", float(np.median(t)), _range(t), np.median(t) / peer, *memory[kind]]
                for kind, t in times.items()
            ),
        ],
    )


def _range(values: list[float]) -> str:
    return f"{min(values):.3f}-{max(values):.3f}"


def scores_by_pass(
    train: conll.Split, test: conll.Split, data: conll.Encoded, observed: bool, C: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """F1 of the last and of the averaged model, and CPU seconds of training, after each pass."""
    with cpu_seconds() as seconds:
        problem = chunking_problem(train, data.n_train_tags, observed)
        run = new_run(problem, BCFW(order="permuted", averaging=True, refresh=None), C, seed)
    spent, f1, times = seconds(), [], []
    for _ in range(PASSES):
        with cpu_seconds() as seconds:
            run.advance(run.n)
            average = run.average_point()
            assert average is not None
        spent += seconds()
        times.append(spent)
        f1.append([score_chunks(problem, w, test, data).f1 for w in (run.state.w, average.w)])
    return np.array(f1), np.array(times)


def choose(data: conll.Encoded, observed: bool, grid: tuple[float, ...], folds: int) -> tuple:
    """C and the number of passes, by cross-validation on the training sentences."""
    n = len(data.train.pointers) - 1
    f1 = np.zeros((len(grid), folds, PASSES))
    for fold in range(folds):
        held_out = np.arange(n) % N_FOLDS == fold
        inside = part(data.train, np.flatnonzero(~held_out))
        outside = part(data.train, np.flatnonzero(held_out))
        for row, C in enumerate(grid):
            f1[row, fold] = scores_by_pass(inside, outside, data, observed, C, fold)[0][:, 1]
    mean = f1.mean(axis=1)
    best = int(mean.max(axis=1).argmax())
    passes = int(np.argmax(mean[best] >= mean.max() - ENOUGH_WITHIN)) + 1
    return grid[best], passes, mean


def estimator_row(data: conll.Encoded, kind: str, C: float, passes: int) -> tuple[float, float]:
    """The same training as a user calls it, certificates of both candidates included."""
    train, test = data.train, data.test
    names = conll.tag_strings(train.tags, train.pointers, data.tag_names)
    solver = BCFW(order="permuted", averaging=True, refresh=passes)
    clf = ChainSVM(
        C,
        loss="hamming",
        features=kind,
        solver=solver,
        max_passes=passes,
        tol=0.2,
        random_state=0,
        verbose=False,
    )
    few = part(train, np.arange(100))
    clf.fit(Sequences(few.X, np.diff(few.pointers)), names[:100])  # compile
    with cpu_seconds() as seconds:
        clf.fit(Sequences(train.X, np.diff(train.pointers)), names)
    predicted = clf.predict(Sequences(test.X, np.diff(test.pointers)))
    true = conll.tag_strings(test.tags, test.pointers, data.tag_names)
    return seconds(), conll.chunk_f1(true, predicted).f1


def time_to_good(
    data: conll.Encoded, peer_data: peers_conll.Data, names: list[str], quick: bool
) -> None:
    """Choose C and passes without the test set, then train and score all contestants."""
    grid, folds, seeds = (GRID[1:4], 1, 2) if quick else (GRID, N_FOLDS, 5)
    rows, chosen = [], {}
    for kind, observed in KINDS.items():
        C, passes, held_out = choose(data, observed, grid, folds)
        chosen[kind] = (C, passes)
        print(f"features={kind!r}: held-out F1 of the averaged model, by C and passes")
        shown = [k for k in range(PASSES) if k % 2 == 0]
        body = [[str(c), *(f"{held_out[r, k]:.2f}" for k in shown)] for r, c in enumerate(grid)]
        table(["C", *(str(k + 1) for k in shown)], body)
    peers = {name: peers_conll.run(*peers_conll.SETTINGS[name], peer_data) for name in names}
    seconds = {name: figures["train_seconds"] for name, figures in peers.items()}
    for name, figures in peers.items():
        rows.append([f"crfsuite {name}", None, figures["iterations"], figures["train_seconds"],
                     f"{figures['f1']:.2f}", None, None, None, None])  # fmt: skip
    for kind, (C, passes) in chosen.items():
        runs = [
            scores_by_pass(data.train, data.test, data, KINDS[kind], C, seed)
            for seed in range(seeds)
        ]
        spent = float(np.median([t[passes - 1] for _, t in runs]))
        f1 = [f[passes - 1, 1] for f, _ in runs]
        last = [f[passes - 1, 0] for f, _ in runs]
        first = [float(t[np.argmax(f[:, 1] >= 93.5)]) if (f[:, 1] >= 93.5).any() else np.inf
                 for f, t in runs]  # fmt: skip
        ratios = [spent / seconds[k] if k in seconds else None for k in ("lbfgs", "pa")]
        rows.append([f"taut {kind}", C, passes, spent,
                     f"{np.median(f1):.2f} ({min(f1):.2f}-{max(f1):.2f})", f"{np.median(last):.2f}",
                     *ratios, float(np.median(first))])  # fmt: skip
        spent, f1_fit = estimator_row(data, kind, C, passes)
        ratios = [spent / seconds[k] if k in seconds else None for k in ("lbfgs", "pa")]
        rows.append(
            [f"ChainSVM.fit {kind}", C, passes, spent, f"{f1_fit:.2f}", None, *ratios, None]
        )
    table(["trainer", "C", "passes", "CPU s", "test F1", "of the last iterate", "of lbfgs", "of pa",
           "s to 93.5 (hindsight)"], rows)  # fmt: skip


def main() -> None:
    options = common.arguments(
        __doc__,
        peers={"nargs": "*", "choices": list(peers_conll.SETTINGS), "help": "to compare with"},
    )
    quick = options.quick
    peers = options.peers or (["pa"] if quick else ["pa", "lbfgs"])
    data = conll.encode(conll.read("train"), conll.read("test"))
    peer_data = peers_conll.load()
    pass_cost(data, peer_data, rounds=2 if quick else 4)
    time_to_good(data, peer_data, peers, quick)


if __name__ == "__main__":
    main()
