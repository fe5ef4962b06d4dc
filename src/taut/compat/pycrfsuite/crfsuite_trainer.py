"""CRFsuite's trainer: sequences are appended, parameters set, a model file is written."""

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self

from taut.compat.pycrfsuite._logparser import TrainLogParser
from taut.compat.pycrfsuite.crfsuite_parameters import ALGORITHMS, ALIASES, TITLES
from taut.compat.pycrfsuite.item_sequence import Instance, ItemSequence


class CRFSuiteError(Exception):
    """Raised by nothing here: what is wrong is a ValueError, TypeError or OSError that says so."""


def _label(label: Any) -> str:
    if isinstance(label, bytes):
        return label.decode()
    if not isinstance(label, str):
        raise TypeError(f"the label {label!r} is not a string; make it one")
    return label


class BaseTrainer:
    """Training data, an algorithm with its parameters, and messages as training goes on.

    Algorithms are "lbfgs" and "l2sgd", which maximise likelihood, and "ap", "pa" and "arow", which
    train margins; ``help`` says what each parameter is here.
    """

    verbose: bool

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        # As in python-crfsuite, a subclass may leave out __init__ of its base.
        trainer = super().__new__(cls)
        trainer._instances = []
        trainer._algorithm = "lbfgs"
        trainer._values = {}
        trainer.verbose = True
        return trainer

    _instances: list[Instance]
    _algorithm: str
    _values: dict[str, Any]  # of parameters that were set

    def __init__(
        self,
        algorithm: str | None = None,
        params: Mapping[str, Any] | None = None,
        verbose: bool = True,
    ):
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def message(self, message: str) -> None:
        """Receives each piece of the log; prints it if ``verbose``."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Iterable[Any], yseq: Iterable[str], group: int = 0) -> None:
        """Add a sequence of items and its labels; ``group`` is for ``holdout``."""
        items = xseq if isinstance(xseq, ItemSequence) else ItemSequence(xseq)
        labels = list(map(_label, yseq))
        if len(items) != len(labels):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(items)}, |y| = {len(labels)}"
            )
        self._instances.append(Instance(items, labels, int(group)))

    def clear(self) -> None:
        """Remove all sequences."""
        self._instances.clear()

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm; its parameters get their defaults."""
        chosen = ALIASES.get(algorithm.lower(), algorithm.lower())
        if chosen not in ALGORITHMS or type.lower() != "crf1d":
            raise ValueError(
                f"Bad arguments: algorithm={algorithm!r}, type={type!r}; expected "
                f"{', '.join([*ALGORITHMS, *ALIASES])} and type='crf1d'"
            )
        self._algorithm, self._values = chosen, {}

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return list(ALGORITHMS[self._algorithm])

    def _parameter(self, name: str, value: str = "") -> Any:
        known = ALGORITHMS[self._algorithm]
        if name not in known:
            raise ValueError(
                f"Parameter not found: {name}{value}; {self._algorithm} has {', '.join(known)}"
            )
        return known[name]

    def set(self, name: str, value: Any) -> None:
        """Set a parameter of the selected algorithm."""
        parameter = self._parameter(name, f" = {value}")
        try:
            self._values[name] = parameter.cast(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name}={value!r}; {parameter.default!r} is the default") from None

    def set_params(self, params: Mapping[str, Any]) -> None:
        for name, value in params.items():
            self.set(name, value)

    def get(self, name: str) -> Any:
        default = self._parameter(name).default
        return self._values.get(name, default)

    def get_params(self) -> dict[str, Any]:
        return {name: self.get(name) for name in self.params()}

    def help(self, name: str) -> str:
        """What a parameter means here."""
        return self._parameter(name).help

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train on the sequences appended, and write the model file, unless its name is empty.

        Those of the group ``holdout`` are left out, and the log says at the end how well they are
        labelled. Without any sequence no file is written.
        """
        # Here, because who tags needs nothing of it: it takes seconds to import.
        from taut.chain.file import save_chain
        from taut.compat.pycrfsuite.crfsuite_plan import plan_of
        from taut.compat.pycrfsuite.crfsuite_training import sizes, train_chain

        self._before_train()
        plan = plan_of(self._algorithm, self.get_params())
        if holdout >= 0:
            self.message(f"Holdout group: {holdout + 1}\n")
            self.message("\n")
        instances = [one for one in self._instances if one.group != holdout]
        held_out = [one for one in self._instances if one.group == holdout]
        trained = train_chain(
            instances, plan, self._say_after(self._title()), held_out if holdout >= 0 else None
        )
        if trained is None or not os.fspath(model):
            return
        begin = time.process_time()
        self.message("Storing the model\n")
        save_chain(trained, model, {"format": "attributes"})
        for line in sizes(trained):
            self.message(line)
        self.message(f"Seconds required: {time.process_time() - begin:.3f}\n")
        self.message("\n")

    def _before_train(self) -> None:
        """For subclasses: called first."""

    def _title(self) -> list[str]:
        parameters = ALGORITHMS[self._algorithm]
        used = [name for name in parameters if parameters[name].is_used and "." not in name]
        return [
            f"{TITLES[self._algorithm]} optimization\n",
            *(f"{n}: {self.get(n)}\n" for n in used),
        ]

    def _say_after(self, title: list[str]) -> Any:
        """``message``, with the algorithm and its parameters before it begins."""
        waiting, is_next = title, False

        def say(line: str) -> None:
            nonlocal waiting, is_next
            self.message(line)
            if line == "\n" and is_next:
                for told in waiting:
                    self.message(told)
                waiting = []
            is_next = line.startswith("Seconds required: ")

        return say


class Trainer(BaseTrainer):
    """Like its base, with a method for each part of the log: ``on_start`` and so on.

    ``logparser`` is the :class:`~taut.compat.pycrfsuite._logparser.TrainLogParser` of the last run.
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if not self.verbose or event is None:
            return
        log = parser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(log, parser.featgen_percent)
        elif event == "iteration":
            self.on_iteration(log, parser.last_iteration)
        else:
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any] | None) -> None:
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        print(log, end="")

    def on_end(self, log: str) -> None:
        print(log, end="")
