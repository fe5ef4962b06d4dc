"""What runs with an oracle have in common."""

from abc import abstractmethod
from typing import Any

import numpy as np

from taut.solvers.any_run import AnyRun
from taut.solvers.certificate import OraclePass
from taut.solvers.state import ORACLE_CALLS


def oracle_memory(problem: Any) -> np.ndarray:
    """What the oracle carries from call to call, where it does."""
    return getattr(problem, "memory", np.zeros(0))


class OracleRun(AnyRun):
    oracle: OraclePass
    oracle_is_fresh = False  # whether the oracle's last answers, of all examples, are those at w
    memory_before: np.ndarray  # what the oracle carried with it when they were asked for

    def ask_all(self) -> None:
        """The oracle's answers at the current weights."""
        self.memory_before = oracle_memory(self.problem).copy()
        self.oracle.run(self.state.w, self.dual)
        self.state.count[ORACLE_CALLS] += self.n
        self.oracle_is_fresh = True

    def saved_oracle(self) -> dict[str, np.ndarray]:
        return {
            "memory": oracle_memory(self.problem),
            "memory_before": self.memory_before,
            "fresh": np.array([self.oracle_is_fresh]),
        }

    def restore_oracle(self, arrays: dict[str, np.ndarray]) -> None:
        """As it was when saved; last, because it asks at the weights put before."""
        memory = oracle_memory(self.problem)
        self.memory_before = arrays["memory_before"]
        self.oracle_is_fresh = bool(arrays["fresh"][0])
        if self.oracle_is_fresh:
            memory[...] = self.memory_before
            self.oracle.run(self.state.w, self.dual)
        memory[...] = arrays["memory"]

    @property
    @abstractmethod
    def dual(self) -> Any:
        """A dual point, as the problem keeps it."""

    @property
    def pass_steps(self) -> int:
        return self.n

    @property
    def oracle_calls(self) -> int:
        return int(self.state.count[ORACLE_CALLS])

    @property
    def is_compiled(self) -> bool:
        return self.problem.is_compiled

    @property
    def inference(self) -> str:
        return getattr(self.problem, "inference", "")

    @property
    def certifies(self) -> str:
        return getattr(self.problem, "certifies", "")

    def worst_losses(self, cold: bool) -> np.ndarray:
        """max_y loss_i(y), the oracle's values at w = 0; some problems know them without it."""
        worst = self.problem.worst_losses()
        asked_oracle = worst is None or not self.problem.is_compiled
        if worst is None:
            memory = oracle_memory(self.problem)
            before = memory.copy()
            self.oracle.run(np.zeros(self.problem.dim), self.dual)
            worst, memory[...] = self.oracle.best.copy(), before
        if asked_oracle and cold:
            self.state.count[ORACLE_CALLS] += self.n
        return worst
