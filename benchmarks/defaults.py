"""The defaults of ``taut train``: loss, C, features, averaging and passes, on many sets.

Why: a default tuned on one set is a guess about all others. One grid runs over the sets of
``defaults_data.py``, and a default is judged by the *worst* it loses on any of them against the
best choice for that set. Tables:

1. the loss (summed or divided by the length), the weights (all or observed), the average of the
   iterates or the last, each at its own best C;
2. C on every set, and rules for C: what each, with its best constant, loses at worst;
3. held-out score and relative gap by passes, at the C of the rule, and where to stop;
4. what was chosen above on held-out training sequences, on the test sets, against other C.

The candidates for C have no unit. With attributes a times as large, w/a predicts the same, and
C/a^2 finds it: C must fall as 1/|x|^2. So the grid is

    C = factor / (1 + mean over tokens of |x_t|^2)          (the 1 is the bias)

for the summed loss. That divided by the length is so much smaller, and so is its C.

``--extra pos:FILE ner:FILE`` adds column files (tabs, label last), each with its template.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import common  # first: it limits threads before numpy starts
import numpy as np
from common import new_run, table
from defaults_data import NAMES, QUICK, Data, Task, has_shuffles, load

from taut import defaults
from taut.choice.registry import registered_solver
from taut.decode import decode
from taut.labels import LabelCodec
from taut.metrics.report import span_report_from_codes
from taut.solvers import BCFW
from taut.structures.chain import chain_problem
from taut.structures.features import node_features
from taut.structures.features_build import with_weights_of
from taut.structures.pairwise import Pairwise
from taut.text.columns import Column

FACTORS = (0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 96.0)
NEAR = FACTORS[1:-1]
PASSES = (1, 2, 4, 6, 8, 12, 16, 18, 24, 32)
COMPARED_AFTER = 8  # passes
FACTOR = defaults.C_FACTOR


class Stop(NamedTuple):
    """Training ends at this relative gap, looked at every so many passes."""

    every: int
    tol: float


STOP = Stop(registered_solver("averaged").check_every, 0.03)
MOST_PASSES = 24.0
LATER = Stop(8, 0.025)


class Kind(NamedTuple):
    """What is trained: the loss divided by the length or not, all weights or the observed."""

    normalize: bool = False
    observed: bool = False


class Row(NamedTuple):
    """After some passes: scores, and the gap in units of the objective at w = 0."""

    last: float
    average: float
    gap: float


Trace = dict[int, Row]  # by passes


DEFAULT = Kind()


def train(task: Task, kind: Kind, factor: float, seed: int) -> Trace:
    """Permuted BCFW; the average's gap is to the dual value of the last iterate, the larger one."""
    data, codec = task.train, LabelCodec(task.train.labels)
    problem = chain_problem(
        data.rows, data.lengths, codec.encode(data.labels), len(codec.classes),
        normalize=kind.normalize, observed=kind.observed,
    )  # fmt: skip
    length = float(data.lengths.mean())
    C = factor / (1.0 + task.squared_norm) / (length if kind.normalize else 1.0)
    run = new_run(problem, BCFW(order="permuted", averaging=True, refresh=None), C, seed)
    trace = {}
    # The other kinds are compared at one place only; large sets are done sooner.
    wanted = PASSES if kind == DEFAULT else (COMPARED_AFTER,)
    for passes in (p for p in wanted if p <= 18 or not task.is_large):
        run.advance(passes * run.n - run.steps)
        average = run.average_point()
        assert average is not None
        gap = run.certify_average(average).primal - run.certify().dual
        last, mean = (score(problem, w, task.held_out, codec) for w in (run.state.w, average.w))
        trace[passes] = Row(last, mean, gap / (1.0 if kind.normalize else length))
    return trace


def score(problem: Pairwise, w: np.ndarray, data: Data, codec: LabelCodec) -> float:
    """F1 of spans where some tokens are outside, else accuracy; in percent."""
    features = with_weights_of(node_features(data.rows), problem.features)
    predicted = decode(problem.for_prediction(features, data.lengths, None), w)
    if "O" not in data.labels.values:
        return 100.0 * float((predicted == codec.encode(data.labels)).mean())
    found = Column(predicted, codec.classes.tolist())
    return 100.0 * span_report_from_codes(data.labels, found, data.lengths).micro.f1


class Study:
    """All runs on one set; scores are means over shuffles."""

    def __init__(self, name: str, shuffles: int, test: bool = False):
        self.name = name.rpartition("/")[2]
        seeds = range(shuffles if has_shuffles(name) else 1)
        self.tasks = [load(name, seed, test) for seed in seeds]
        self.traces: dict[tuple[Kind, float], list[Trace]] = {}

    def runs(self, kind: Kind, factor: float) -> list[Trace]:
        if (kind, factor) not in self.traces:
            self.traces[kind, factor] = [
                train(task, kind, factor, seed) for seed, task in enumerate(self.tasks)
            ]
        return self.traces[kind, factor]

    def after(self, passes: int, factor: float = FACTOR, kind: Kind = DEFAULT) -> Row:
        return _mean([trace[passes] for trace in self.runs(kind, factor)])

    def best(self, passes: int, kind: Kind, field: str) -> float:
        return max(getattr(self.after(passes, factor, kind), field) for factor in NEAR)

    def lost(self, passes: int, C: float) -> float:
        """Against the best C; between two C of the grid, on the line through them."""
        scores = [self.after(passes, factor).average for factor in FACTORS]
        unit = 1.0 + self.tasks[0].squared_norm
        return max(scores) - float(np.interp(np.log(C * unit), np.log(FACTORS), scores))

    def stopped(self, stop: Stop, factor: float = FACTOR) -> tuple[float, Row]:
        """Passes and scores at the end."""
        runs = self.runs(DEFAULT, factor)
        ends = [_end(trace, stop) for trace in runs]
        rows = [trace[end] for trace, end in zip(runs, ends, strict=True)]
        return float(np.mean(ends)), _mean(rows)


def _mean(rows: Sequence[Row]) -> Row:
    return Row(*(float(value) for value in np.mean(rows, axis=0)))


def _end(trace: Trace, stop: Stop) -> int:
    checks = [p for p in trace if p % stop.every == 0 and p <= MOST_PASSES]
    return next((p for p in checks if trace[p].gap <= stop.tol), checks[-1])


# --- tables ---------------------------------------------------------------------------------------


def choices(studies: list[Study]) -> None:
    """Loss, weights and averaging."""
    rows = []
    for study in studies:
        task, best = study.tasks[0], study.best(COMPARED_AFTER, DEFAULT, "average")
        others = [
            study.best(COMPARED_AFTER, Kind(normalize=True), "average"),
            study.best(COMPARED_AFTER, Kind(observed=True), "average"),
            study.best(COMPARED_AFTER, DEFAULT, "last"),
        ]
        rows.append([
            study.name, len(task.train.lengths), f"{task.train.lengths.mean():.0f}",
            f"{task.squared_norm:.0f}", len(LabelCodec(task.train.labels).classes),
            f"{best:.2f}", *(f"{other - best:+.2f}" for other in others),
        ])  # fmt: skip
    print(f"Score after {COMPARED_AFTER} passes, each at its best C, and what other choices change")
    table(["set", "sequences", "tokens", "attributes", "labels", "summed loss, all, average",
           "normalised loss", "observed", "last iterate"], rows)  # fmt: skip


def rules(studies: list[Study]) -> None:
    """C by factor on every set; then the worst loss of rules for C."""
    print(f"Lost against the best C, by factor, after {COMPARED_AFTER} passes")
    body = []
    for study in studies:
        unit = 1.0 + study.tasks[0].squared_norm
        lost = [study.lost(COMPARED_AFTER, factor / unit) for factor in FACTORS]
        body.append([study.name, f"{FACTOR / unit:.2f}", *(f"{value:.2f}" for value in lost)])
    table(["set", f"C of factor {FACTOR:g}", *(f"{factor:g}" for factor in FACTORS)], body)

    shapes: dict[str, Callable[[Task], float]] = {
        "constant": lambda task: 1.0,
        "1 / ‖x‖²": lambda task: 1.0 / task.squared_norm,
        "1 / (1 + ‖x‖²)": lambda task: 1.0 / (1.0 + task.squared_norm),
        "1 / (length ‖x‖²)": lambda task: 1.0 / (task.train.lengths.mean() * task.squared_norm),
        "1 / n, λ constant": lambda task: 1.0 / len(task.train.lengths),
    }
    rows = []
    for rule, shape in shapes.items():
        for passes in (COMPARED_AFTER, 16):
            tried = [
                (max((s.lost(passes, c * shape(s.tasks[0])), s.name) for s in studies), c)
                for c in np.geomspace(1e-2, 1e5, 211)
            ]
            (worst, name), c = min(tried)
            rows.append([rule, passes, f"{c:.3g}", f"{worst:.2f}", name])
    print("The best constant of rules for C (beyond the grid: as at its end)")
    table(["C is proportional to", "passes", "constant", "worst loss", "on"], rows)


def passes(studies: list[Study]) -> None:
    """Score and gap as training goes on."""
    rows = []
    for study in studies:
        course = {p: study.after(p) for p in study.runs(DEFAULT, FACTOR)[0]}
        best = max(row.average for row in course.values())
        cells = [f"{row.average - best:.2f} ({row.gap:.3f})" for row in course.values()]
        cells += ["–"] * (len(PASSES) - len(cells))
        for end, row in (study.stopped(STOP), study.stopped(LATER)):
            cells.append(f"{row.average - best:.2f} ({end:.0f})")
        rows.append([study.name, *cells])
    print(
        "The average's score against its best, and (relative gap), by passes; then where training"
    )
    print(f"stops, and (passes), with at most {MOST_PASSES:g} passes")
    table(["set", *map(str, PASSES), *(f"{s.tol} every {s.every}" for s in (STOP, LATER))], rows)


def on_test_sets(studies: list[Study]) -> None:
    rows = []
    for study in studies:
        end, row = study.stopped(STOP)
        changes = [study.stopped(STOP, factor)[1].average - row.average for factor in NEAR]
        later = study.stopped(LATER)[1].average - row.average
        rows.append([
            study.name, f"{end:.0f}", f"{row.gap:.3f}", f"{row.average:.2f}",
            *(f"{change:+.2f}" for change in changes), f"{max(changes):.2f}",
            f"{row.last - row.average:+.2f}", f"{later:+.2f}",
        ])  # fmt: skip
    print("Test sets: the defaults, what other factors for C change (and so what the default loses")
    print("against the best C), the last iterate instead of the average, and the later stop")
    table(["set", "passes", "gap", "score", *(f"{f:g}" for f in NEAR), "lost", "last iterate",
           f"{LATER.tol} every {LATER.every}"], rows)  # fmt: skip


def main() -> None:
    options = common.arguments(
        __doc__, extra={"nargs": "*", "default": [], "help": "template:file, column files"}
    )
    names = [*(QUICK if options.quick else NAMES), *options.extra]
    shuffles = 1 if options.quick else 3
    studies = [Study(name, shuffles) for name in names]
    choices(studies)
    rules(studies)
    passes(studies)
    on_test_sets([Study(name, shuffles, test=True) for name in names])


if __name__ == "__main__":
    main()
