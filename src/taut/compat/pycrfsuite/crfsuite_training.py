"""From appended sequences to a trained chain, with CRFsuite's log as it goes."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from taut.chain.given_weights import (
    NodeWeights,
    OfLabels,
    StepWeights,
    model_of_numbers,
    named_attributes,
)
from taut.chain.model import ChainModel
from taut.chain.training import Data, Training, new_training
from taut.compat.pycrfsuite.crfsuite_plan import Plan
from taut.compat.pycrfsuite.item_sequence import Instance, numbered
from taut.solvers import solve
from taut.structures.features_build import observed_layout
from taut.structures.pairwise import Pairwise
from taut.structures.pairwise_build import pairwise_problem
from taut.structures.sparse_steps import new_steps

Say = Callable[[str], None]


def train_chain(
    instances: Sequence[Instance], plan: Plan, say: Say, held_out: Sequence[Instance] | None
) -> ChainModel | None:
    """None if there is nothing to learn from; ``say`` hears the lines of the log."""
    begin = time.process_time()
    filled = [instance for instance in instances if len(instance.items)]
    labels = sorted({label for instance in filled for label in instance.labels})
    training = None
    if len(labels) > 1:
        X, y = numbered([one.items for one in filled]), [one.labels for one in filled]
        training = new_training(plan.specification, Data(X, y, X_name="the training data"))
        training = _frequent(training, plan.minfreq)
    _say_features(say, plan, 0 if training is None else training.problem.dim, begin)
    begin = time.process_time()
    if training is not None and training.problem.dim:
        model = _solved(training, plan, say, held_out)
    elif labels:
        model = _without_weights(labels, plan)
        say("there is one label, or no feature that is frequent enough: nothing is learned\n")
    else:
        model = None
        say("training terminated with error: there are no sequences\n")
    say(f"Total seconds required for training: {time.process_time() - begin:.3f}\n")
    say("\n")
    return model


def _say_features(say: Say, plan: Plan, n_features: int, begin: float) -> None:
    specification = plan.specification
    say("Feature generation\n")
    say("type: CRF1d\n")
    say(f"feature.minfreq: {plan.minfreq:f}\n")
    say(f"feature.possible_states: {specification.features == 'all':d}\n")
    say(f"feature.possible_transitions: {specification.transitions == 'all':d}\n")
    for percent in range(0, 102, 2):
        say("." if percent % 10 else str(percent // 10))
    say("\n")
    say(f"Number of features: {n_features}\n")
    say(f"Seconds required: {time.process_time() - begin:.3f}\n")
    say("\n")


def _without_weights(labels: list[str], plan: Plan) -> ChainModel:
    nothing: Any = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    nodes, steps = NodeWeights(*nothing), StepWeights(*nothing)
    return model_of_numbers(
        named_attributes([]), labels, nodes, steps, OfLabels(), plan.specification
    )


def _solved(
    training: Training, plan: Plan, say: Say, held_out: Sequence[Instance] | None
) -> ChainModel:
    solver, n = training.solver(), training.problem.n
    say(f"{solver.describe()}\n")
    say("\n")
    state = {"seconds": 0.0, "number": 0}

    def tell(row: Any) -> None:
        state["number"] += 1
        if state["number"] > 1:
            say("\n")
        say(f"***** Iteration #{state['number']} *****\n")
        say(f"Loss: {row.primal * n:f}\n")
        say(f"Proved gap: {row.gap * n:f}\n")
        say(f"Seconds required for this iteration: {row.seconds - state['seconds']:.3f}\n")
        state["seconds"] = row.seconds

    specification = plan.specification
    solution = solve(
        training.problem,
        solver,
        C=training.C,
        slack_penalty=specification.slack_penalty,
        l1=specification.l1,
        tol=specification.tol,
        max_passes=plan.max_passes,
        progress=False,
        callback=tell,
    )
    model = training.model(solution)
    say(f"Feature norm: {float(np.sqrt(solution.w @ solution.w)):f}\n")
    say(f"Active features: {np.count_nonzero(solution.w)}\n")
    if held_out is not None:
        _say_scores(model, training, held_out, say)
    say("\n")
    say(f"{solution.status.value}\n")
    return model


def _say_scores(
    model: ChainModel, training: Training, held_out: Sequence[Instance], say: Say
) -> None:
    """How good the labels of held-out sequences are."""
    filled = [instance for instance in held_out if len(instance.items)]
    true, predicted = [one.labels for one in filled], []
    if filled:
        text = training.read(Data(numbered([one.items for one in filled]), true))
        predicted = model.labels.decode(model.decode(text), text.lengths)
    pairs = [pair for y, z in zip(true, predicted, strict=True) for pair in zip(y, z, strict=True)]
    names = sorted({*model.labels.classes.tolist(), *(label for y in true for label in y)})
    say("Performance by label (#match, #model, #ref) (precision, recall, F1):\n")
    sums = np.zeros(3)
    for name in names:
        counts = [
            sum(y == z == name for y, z in pairs),
            sum(z == name for _, z in pairs),
            sum(y == name for y, _ in pairs),
        ]
        scores = np.zeros(3)
        if counts[2]:
            precision, recall = counts[0] / max(counts[1], 1), counts[0] / counts[2]
            scores[:] = precision, recall, 2 * precision * recall / ((precision + recall) or 1.0)
            sums += scores
        told = (
            ", ".join(f"{score:.4f}" for score in scores) if counts[2] else "******, ******, ******"
        )
        say(f"    {name}: ({', '.join(map(str, counts))}) ({told})\n")
    told = ", ".join(f"{score:f}" for score in sums / max(len(names), 1))
    say(f"Macro-average precision, recall, F1: ({told})\n")
    right, whole = sum(y == z for y, z in pairs), sum(map(list.__eq__, true, predicted))
    for what, part, of in (("Item", right, len(pairs)), ("Instance", whole, len(true))):
        say(f"{what} accuracy: {part} / {of} ({part / max(of, 1):.4f})\n")


def sizes(model: ChainModel) -> Iterator[str]:
    """How large a model is, in lines of the log."""
    used = np.diff(sparse.csr_array(model.node_weights()).indptr) > 0
    n_labels = len(model.labels.classes)
    yield f"Number of active features: {np.count_nonzero(model.w)} ({len(model.w)})\n"
    yield f"Number of active attributes: {used.sum()} ({len(used)})\n"
    yield f"Number of active labels: {n_labels} ({n_labels})\n"


# --- features that are rare -----------------------------------------------------------------------


def _frequent(training: Training, minfreq: float) -> Training:
    """Without the weights of pairs whose values in training add up to less."""
    if minfreq <= 0:
        return training
    examples = training.examples
    L, rows = examples.n_states, examples.features.rows
    truth = examples.truth.astype(np.int64)
    codes = rows.indices.astype(np.int64) * L + np.repeat(truth, np.diff(rows.indptr))
    pairs, of_pair = np.unique(codes, return_inverse=True)
    pairs = pairs[np.bincount(of_pair, rows.values, len(pairs)) >= minfreq]
    attribute, label = np.divmod(pairs, L)
    counts = np.bincount(attribute, minlength=rows.n_features)
    pointer, state, _ = observed_layout(counts, label, L)
    later = np.ones(len(truth), bool)
    later[examples.pointer[:-1]] = False
    node = np.flatnonzero(later)
    steps, often = np.unique(truth[node - 1] * L + truth[node], return_counts=True)
    return replace(training, examples=_with(examples, pointer, state, steps[often >= minfreq]))


def _with(
    examples: Pairwise, pointer: np.ndarray, state: np.ndarray, steps: np.ndarray
) -> Pairwise:
    """The same sequences, with weights for these pairs only."""
    return pairwise_problem(
        examples.features.with_pairs(pointer, state),
        examples.pointer,
        examples.truth,
        examples.n_states,
        cost=None,
        loss_scale=None,
        importance=None,
        bias=False,
        boundary=False,
        step_features=np.zeros((0, 0)),
        steps=new_steps(steps, examples.n_states),
    )
