"""What runs with an oracle have in common."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from taut._compile import in_mode
from taut.solvers.any_run import AnyRun, check_follows
from taut.solvers.block_state import ORACLE_CALLS
from taut.solvers.certificate import Certificate, OraclePass, block_averages, lengths_of
from taut.solvers.objective import Objective


class OracleRun(AnyRun):
    oracle_is_fresh = False  # whether the oracle's last answers, of all examples, are those at w

    def __init__(self, problem: Any, solver: Any, objective: Objective):
        super().__init__(problem, solver, objective)
        self.n_threads = objective.n_threads
        self.oracle = self.new_oracle(self.keeps_answers)
        # What the oracle carried with it when it was last asked for all examples.
        self.memory_before = problem.memory.copy()

    @property
    def keeps_answers(self) -> bool:
        """Whether steps are taken by the labellings of a whole pass."""
        return False

    @cached_property
    def lengths(self) -> np.ndarray:
        """How many integers the labellings of each example have."""
        return lengths_of(self.problem)

    def new_oracle(self, keeps_answers: bool = False) -> OraclePass:
        return OraclePass(self.problem, self.n_threads, keeps_answers)

    @property
    @abstractmethod
    def dual(self) -> Any:
        """A dual point, as the problem keeps it."""

    def put_dual(self, mu: Any) -> None:
        """Be at a dual point of these examples, or of the first of them."""
        self.state = self.state._replace(mu=self.problem.copy_dual(mu, self.dual))

    def compile(self) -> None:
        if self.is_compiled:
            self.oracle.run(self.state.w, self.dual, nothing=True)
            self.compile_steps()

    def compile_steps(self) -> None:
        """Have the kernels of ``advance`` ready."""
        self.advance(0)

    def ask_all(self) -> None:
        """The oracle's answers at the current weights."""
        self.memory_before = self.problem.memory.copy()
        self.oracle.run(self.state.w, self.dual)
        self.state.count[ORACLE_CALLS] += self.n
        self.oracle_is_fresh = True

    @abstractmethod
    def rebuild(self) -> None:
        """Recompute v, and the weights if they follow from it, from the dual point."""

    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate:
        """At w = 0 the oracle's values are the worst losses: the first gaps cost nothing.

        Who takes steps by the labellings of a whole pass needs those, too.
        """
        if not cold or np.any(self.state.w) or self.keeps_answers:
            return self.certify()
        gaps = self.importance * self.penalty.cost(worst) / self.n
        certificate = Certificate(float(gaps.sum()), 0.0, gaps)
        self.store_gaps(certificate)
        return certificate

    def store_gaps(self, certificate: Certificate) -> None:
        """For who draws examples by their gaps."""

    def primal_of(self, w: np.ndarray) -> float:
        """By an oracle of its own: a run needs the answers that it has."""
        asked = self.new_oracle()
        asked.run(w, self.dual)
        return self.primal_value(w, asked.best)

    # --- checkpoints --------------------------------------------------------------------------

    @property
    def growing(self) -> tuple[str, ...]:
        grows = self.problem.dual_grows or not self.is_compiled
        return ("mu",) * grows  # the problem sees to what it is

    def saved_arrays(self) -> dict[str, np.ndarray]:
        mu = {"mu": self.problem.dual_array(self.dual)}
        return self.saved_state() | mu | self.saved_oracle()

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        self.put_dual(arrays["mu"])
        self.put_state(arrays)
        self.place_weights()
        self.restore_oracle(arrays)

    def place_weights(self) -> None:
        """Weights that are not saved, from what is."""

    def check(self, arrays: dict[str, np.ndarray], certificate: Certificate) -> None:
        if "v" not in self.left_out:
            self.rebuild()
            check_follows(arrays["v"], self.state.v, "weights and dual point")
        self.check_losses(arrays["ell"])

    def check_losses(self, ell: np.ndarray) -> None:
        """That stored losses are those of the dual point: a lower bound rests on both."""
        found, problem = np.zeros(self.n), self.problem
        in_mode(block_averages, problem)(
            problem, np.zeros(problem.dim), self.dual, self.oracle.works[0], found
        )
        check_follows(ell, found, "losses and dual point")

    def saved_oracle(self) -> dict[str, np.ndarray]:
        return {
            "memory": self.problem.memory,
            "memory_before": self.memory_before,
            "fresh": np.array([self.oracle_is_fresh]),
        }

    def restore_oracle(self, arrays: dict[str, np.ndarray]) -> None:
        """As it was when saved; last, because it asks at the weights put before."""
        memory = self.problem.memory
        self.memory_before = arrays["memory_before"]
        self.oracle_is_fresh = bool(arrays["fresh"][0])
        if self.oracle_is_fresh:
            memory[...] = self.memory_before
            self.oracle.run(self.state.w, self.dual)
        memory[...] = arrays["memory"]

    def worst_losses(self, cold: bool) -> np.ndarray:
        """max_y loss_i(y), the oracle's values at w = 0; some problems know them without it."""
        worst = self.problem.worst_losses()
        asked_oracle = worst is None or not self.problem.is_compiled
        if worst is None:
            # By an oracle of their own: a run taken up again needs the answers that it has.
            memory, oracle = self.problem.memory, self.new_oracle()
            before = memory.copy()
            oracle.run(np.zeros(self.problem.dim), self.dual)
            worst, memory[...] = oracle.best, before
        if asked_oracle and cold:
            self.state.count[ORACLE_CALLS] += self.n
        return worst
