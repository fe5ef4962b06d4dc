"""Random models on small forests in which some states and steps are forbidden."""

import numpy as np
from graph_models import SCORES, random_model
from hypothesis import strategies as st


def forbid(model, share, seed):
    """The model with about that share of its scores at minus infinity."""
    rng = np.random.default_rng(seed)
    theta, pair = (
        np.where(~np.isnan(scores) & (rng.random(scores.shape) < share), -np.inf, scores)
        for scores in (model.theta, model.pair)
    )
    return model._replace(theta=theta, pair=pair)


def random_forest(n, n_states, scores, share, seed):
    """Edges point up or down. At large shares there may be no labelling that is possible."""
    model = random_model("forest", n, n_states, scores, seed)
    turned = np.random.default_rng(seed).random(len(model.ends)) < 0.5
    return forbid(
        model._replace(
            ends=np.where(turned[:, None], model.ends[:, ::-1], model.ends),
            pair=np.where(turned[:, None, None], model.pair.transpose(0, 2, 1), model.pair),
        ),
        share,
        seed,
    )


@st.composite
def forests(draw, scores=SCORES, most_nodes=6, shares=(0.0, 0.1, 0.4)):
    return random_forest(
        draw(st.integers(1, most_nodes)),
        draw(st.integers(1, 4)),
        draw(st.sampled_from(scores)),
        draw(st.sampled_from(shares)),
        draw(st.integers(0, 10**6)),
    )


def possible(model):
    """All labellings that nothing forbids, and their scores."""
    scored = [(y, model.score(y)) for y in model.labellings()]
    scored = [(y, score) for y, score in scored if score > -np.inf]
    labels = np.array([y for y, _ in scored], np.int32).reshape(-1, len(model.theta))
    return labels, np.array([score for _, score in scored])


def rounding(model):
    """What the sum of a labelling's scores may be wrong by: relative to all that are finite."""
    finite = lambda scores: np.where(np.isinf(scores), 0.0, scores)  # noqa: E731
    return 1e-14 * model._replace(theta=finite(model.theta), pair=finite(model.pair)).scale


def with_one_table(model, seed):
    """The same forest with one table for all edges, and that table."""
    n_states = model.theta.shape[1]
    table = np.random.default_rng(seed).normal(size=(1, n_states, n_states))
    return model._replace(pair=np.repeat(table, len(model.ends), axis=0)), table
