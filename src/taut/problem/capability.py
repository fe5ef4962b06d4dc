"""What a problem can be asked for, what a solver needs, and the words where these differ."""

from enum import Flag, auto


class Capability(Flag):
    """What not every problem has. A problem says what it has, a solver what it ``needs``.

    >>> Capability.FACTORS in Capability.MAX_ORACLE | Capability.FACTORS
    True
    """

    MAX_ORACLE = auto()  # ``argmax`` finds the best labelling: what SVMs are trained by
    DECODING = auto()  # without the loss, what it finds is an answer
    LIKELIHOOD = auto()  # ``free`` and ``known``: any CRF
    SMOOTHED = auto()  # "labellings" are distributions: the CRF of examples labelled in full
    FACTORS = auto()  # nodes and edges that can be seen one at a time
    SUM_ORACLE = auto()  # what ``smoothed`` makes a CRF of
    RESCALED_ORACLE = auto()  # what ``slack_rescaled`` asks for
    CLAMPING = auto()  # known labels can be forced: what ``partly_labelled`` asks for


STEPS = Capability.MAX_ORACLE | Capability.SMOOTHED  # a dual point, and how to move it
CRF = Capability.SMOOTHED | Capability.LIKELIHOOD
SVM = Capability.MAX_ORACLE | Capability.DECODING  # what a problem has unless it says otherwise

# What is missing, in words, and what to do about it (but see ``remedy``).
LACKING = {
    Capability.MAX_ORACLE: (
        "a max oracle",
        "train a CRF by SDCA or LBFGS",
    ),
    Capability.DECODING: (
        "labellings that are answers",
        "predict with the problem that training began with, before it was smoothed or rescaled and "
        "not of a relaxation, or with a Python model's own predict",
    ),
    Capability.LIKELIHOOD: (
        "a CRF",
        "make one by smoothed(problem), partly_labelled(problem, known) or ChainCRF",
    ),
    Capability.SMOOTHED: (
        "all labels",
        'some are missing: use LBFGS (solver="lbfgs")',
    ),
    Capability.FACTORS: (
        "nodes and edges to visit one at a time",
        "use it with GraphSVM, GraphCRF or MultilabelSVM, or take a solver with an oracle such as "
        '"bcfw"',
    ),
    Capability.SUM_ORACLE: (
        "a sum oracle",
        "a CRF needs the marginals of chains, forests or single nodes: use an SVM",
    ),
    Capability.RESCALED_ORACLE: (
        "an exact oracle of slack rescaling",
        'use formulation="margin", or StructuredSVM with a model of your own that has a method '
        'slack_oracle (PythonProblem(..., formulation="slack"))',
    ),
    Capability.CLAMPING: (
        "labels that can be forced",
        "label every node, or leave out the examples that are not labelled in full",
    ),
}


def remedy(lacking: Capability, has: Capability) -> str:
    """What to do about a lack, with a problem that has these.

    >>> remedy(Capability.MAX_ORACLE, Capability.LIKELIHOOD)
    'it is a CRF with some labels missing: train it by LBFGS (solver="lbfgs")'
    """
    if has & CRF:
        if lacking in Capability.MAX_ORACLE | Capability.FACTORS:
            if Capability.SMOOTHED in has:
                return 'it is a CRF: train it by SDCA (solver="sdca") or LBFGS (solver="lbfgs")'
            return 'it is a CRF with some labels missing: train it by LBFGS (solver="lbfgs")'
        if lacking not in CRF | Capability.DECODING:
            return "it is a CRF already: give the problem that it was made of"
    elif lacking in Capability.MAX_ORACLE and Capability.FACTORS in has:
        return (
            "it scores three or more nodes together, which no oracle of training knows: train it "
            'without inference, by solver="augmented-lagrangian" or "soft-bcfw"'
        )
    elif lacking in CRF and Capability.MAX_ORACLE in has and Capability.SUM_ORACLE not in has:
        return (
            "and it has no sum oracle, which takes the marginals of chains, forests or single "
            'nodes: train it as an SVM, for instance by BCFW (solver="bcfw")'
        )
    return LACKING[lacking][1]
