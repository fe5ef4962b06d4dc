"""The ways to find the best labelling of a graph, and which of them fits a graph.

    max-sum          exact on forests
    exhaustive       exact; tries all labellings of a small graph
    graph-cut        exact for two states with attractive edges
    expansion        alpha-expansion: any number of states with attractive edges; no bound, so it is
                     for prediction only
    roof-duality     two states: the LP relaxation over the local polytope, solved exactly
    message-passing  any graph: the LP relaxation, to a chosen accuracy, with a bound
    lp               any graph: the LP relaxation by a general solver; slow, the reference

Training with a relaxation certifies the relaxed problem; prediction rounds its solution.
"""

from enum import IntEnum

# Trying 2^9 labellings takes no longer than solving a relaxation.
FEW_BITS = 9


class Method(IntEnum):
    MAX_SUM = 0
    EXHAUSTIVE = 1
    GRAPH_CUT = 2
    EXPANSION = 3
    ROOF_DUALITY = 4
    MESSAGE_PASSING = 5
    LP = 6

    @property
    def text(self) -> str:
        """As users write it: "max-sum" for ``Method.MAX_SUM``."""
        return self.name.lower().replace("_", "-")


RELAXED = (Method.LP, Method.ROOF_DUALITY, Method.MESSAGE_PASSING)
ATTRACTIVE_ONLY = (Method.GRAPH_CUT, Method.EXPANSION)


def named_method(name: str) -> Method:
    """
    >>> named_method("graph-cut").name
    'GRAPH_CUT'
    """
    for method in Method:
        if method.text == name:
            return method
    names = ", ".join(repr(method.text) for method in Method)
    raise ValueError(f'inference={name!r}; expected "auto", {names}')


def fitting_method(*, is_forest: bool, n_states: int, bits: float, attractive: bool) -> Method:
    """What ``inference="auto"`` chooses: exact where that is cheap, else the LP relaxation.

    ``bits`` is log2 of the largest number of labellings.

    >>> fitting_method(is_forest=False, n_states=2, bits=14, attractive=False).text
    'roof-duality'
    """
    if is_forest:
        return Method.MAX_SUM
    if bits <= FEW_BITS:
        return Method.EXHAUSTIVE
    if n_states == 2:
        return Method.GRAPH_CUT if attractive else Method.ROOF_DUALITY
    return Method.MESSAGE_PASSING
