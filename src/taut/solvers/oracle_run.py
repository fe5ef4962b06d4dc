"""What runs with an oracle have in common."""

from abc import abstractmethod
from typing import Any

import numpy as np

from taut.solvers.any_run import AnyRun
from taut.solvers.certificate import OraclePass
from taut.solvers.resume import oracle_memory
from taut.solvers.state import ORACLE_CALLS


class OracleRun(AnyRun):
    oracle: OraclePass

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
