"""What a training log says, line by line; the messages of trainers are such lines."""

import re
from fractions import Fraction
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


NUMBER = r"(\d+\.\d+)"
HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
SECONDS = re.compile(rf"Seconds required: {NUMBER}")
TOTAL = re.compile(rf"Total seconds required for training: {NUMBER}")
N_FEATURES = re.compile(r"Number of features: (\d+)")
FIELDS = [
    ("loss", re.compile(rf"Loss: {NUMBER}"), float),
    ("feature_norm", re.compile(rf"Feature norm: {NUMBER}"), float),
    ("error_norm", re.compile(rf"Error norm: {NUMBER}"), float),
    ("active_features", re.compile(r"Active features: (\d+)"), int),
    ("linesearch_trials", re.compile(r"Line search trials: (\d+)"), int),
    ("linesearch_step", re.compile(rf"Line search step: {NUMBER}"), float),
    ("time", re.compile(rf"Seconds required for this iteration: {NUMBER}"), float),
]
AVERAGES = re.compile(rf"Macro-average precision, recall, F1: \({NUMBER}, {NUMBER}, {NUMBER}\)")
SHARE = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
LABEL = re.compile(
    r"    (?P<label>.+): \((\d+), (\d+), (\d+)\) "
    rf"\((?:\*+, \*+, \*+|{NUMBER}, {NUMBER}, {NUMBER})\)"
)
PERCENT = re.compile(r"\d{1,2}|\.")


class TrainLogParser:
    """Fed with the lines of a log, tells which part of it just ended.

    >>> parser = TrainLogParser()
    >>> [parser.feed(line) for line in ("Feature generation\\n", "Number of features: 3\\n")]
    ['start', None]
    >>> parser.featgen_num_features
    3
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    @property
    def last_log(self) -> str:
        """The lines of the part that ended last."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def feed(self, line: str) -> str | None:
        self.log.append(line)
        event = getattr(self, f"_in_{self.state or 'beginning'}")(line)
        if event is None:
            return None
        start = self.events[-1][2] if self.events else 0
        # What begins the next part was read to see that this one is over.
        is_next = event in ("prepared", "optimization_end")
        self.events.append((event, start, len(self.log) - is_next))
        return event

    def _in_beginning(self, line: str) -> str:
        self.state = "features" if line.startswith("Feature generation") else "preface"
        return "start"

    def _in_preface(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "features"

    def _in_features(self, line: str) -> str | None:
        if PERCENT.fullmatch(line):
            self.featgen_percent += 2
            return "featgen_progress"
        if found := N_FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        elif found := SECONDS.match(line):
            self.featgen_seconds, self.state = float(found[1]), "preparation"
            return "featgen_end"
        return None

    def _in_preparation(self, line: str) -> str | None:
        if found := HEAD.match(line):
            self._begin(int(found[1]))
            return "prepared"
        if "terminated with error" in line:
            self.state = "pause"
            return "prepare_error"
        return None

    def _begin(self, number: int) -> None:
        self.state = "iteration"
        self.last_iteration = {"num": number, "scores": {}}
        self.iterations.append(self.last_iteration)

    def _in_iteration(self, line: str) -> str | None:
        if line == "\n":
            self.state = "pause"
            return "iteration"
        about = self.last_iteration
        assert about is not None
        for name, pattern, kind in FIELDS:
            if found := pattern.match(line):
                about[name] = kind(found[1])
        if found := AVERAGES.match(line):
            averages = zip(("precision", "recall", "f1"), found.groups(), strict=True)
            about.update({f"avg_{name}": float(value) for name, value in averages})
        elif found := SHARE.match(line):
            share = Fraction(int(found[2]), int(found[3]))
            name = f"{found[1].lower()}_accuracy"
            about.update({name: share, f"{name}_float": float(share)})
        elif found := LABEL.match(line):
            label, *numbers = found.groups()
            counts = map(int, numbers[:3])
            scores = (None if score is None else float(score) for score in numbers[3:])
            about["scores"][label] = LabelScore(*counts, *scores)
        return None

    def _in_pause(self, line: str) -> str | None:
        if found := HEAD.match(line):
            self._begin(int(found[1]))
        elif found := TOTAL.match(line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "storing"
            return "optimization_end"
        return None

    def _in_storing(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if found := SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return None
