"""Structured SVMs with every labelling listed: definitions, optimum and simplicial decomposition.

Plain NumPy and a generic QP solver, independent of taut's kernels. Everything is in the *sum form*
(formulas of the dual in ``taut.solvers.penalty``),

    primal  1/2 |w|^2 + C sum_i s_i h(xi_i),   xi_i = max_y H_i(y; w),   H_i = loss_i - <w, psi_i>
    dual    C sum_i s_i (<alpha_i, loss_i> - h*(A_i)) - (<v, w> - |w|^2 / 2)
            v = C sum_i s_i psi_i' alpha_i,   w = clip(v, lower, upper)

and divided by C n is what taut reports (``in_lambda_form``). Labelling 0 of every example is the
truth, with psi = 0 and loss = 0. Slack rescaling multiplies psi by the loss and changes no formula.
"""

from dataclasses import dataclass, replace

import numpy as np
from quadratic_program import QuadraticProgram
from taut_reference import chain_pair, multiclass_pair

from taut import PythonProblem

LINEAR, SQUARED = "linear", "squared"
FREE = (-np.inf, np.inf)


@dataclass(frozen=True)
class EnumeratedProblem:
    psi: list[np.ndarray]  # per example (labellings, dim)
    loss: list[np.ndarray]  # per example (labellings,)
    s: np.ndarray  # (n,) sample weights

    def __post_init__(self):
        assert all(not psi[0].any() and loss[0] == 0 for psi, loss in self.examples)

    @property
    def examples(self):
        return zip(self.psi, self.loss, strict=True)

    @property
    def n(self):
        return len(self.s)

    @property
    def dim(self):
        return self.psi[0].shape[1]

    def slack_rescaled(self):
        """loss (1 - <w, psi>) = loss - <w, loss psi>."""
        return replace(self, psi=[loss[:, None] * psi for psi, loss in self.examples])

    def formulated(self, formulation):
        return self.slack_rescaled() if formulation == "slack" else self

    def in_lambda_form(self, value, C):
        return value / (C * self.n)

    # --- a primal point ----------------------------------------------------------------------

    def values(self, w):
        """H_i(y; w) of all labellings."""
        return [loss - psi @ w for psi, loss in self.examples]

    def slacks(self, w):
        return np.array([values.max() for values in self.values(w)])

    def primal(self, w, C, penalty=LINEAR):
        return 0.5 * (w @ w) + C * (self.s @ cost(self.slacks(w), penalty))

    # --- a dual point: alpha_i(y), the truth taking the rest of one in the linear case ----------

    def masses(self, alpha):
        """A_i, without the truth."""
        return np.array([weights[1:].sum() for weights in alpha])

    def direction(self, alpha, C):
        terms = zip(self.s, self.psi, alpha, strict=True)
        return C * sum(s * (weights @ psi) for s, psi, weights in terms)

    def weights(self, alpha, C, bounds=FREE):
        return np.clip(self.direction(alpha, C), *bounds)

    def dual(self, alpha, C, penalty=LINEAR, bounds=FREE):
        v = self.direction(alpha, C)
        w = np.clip(v, *bounds)
        loss = np.array([weights @ loss for weights, loss in zip(alpha, self.loss, strict=True)])
        paid = conjugate(self.masses(alpha), penalty)
        return C * (self.s @ (loss - paid)) - (v @ w - 0.5 * (w @ w))

    def block_gaps(self, alpha, C, penalty=LINEAR, bounds=FREE):
        """C s_i (h(xi_i) + h*(A_i) - <alpha_i, H_i>); linear: <gradient, corner_i - point_i>."""
        w = self.weights(alpha, C, bounds)
        mean = np.array([a @ h for a, h in zip(alpha, self.values(w), strict=True)])
        paid = cost(self.slacks(w), penalty) + conjugate(self.masses(alpha), penalty)
        return C * self.s * (paid - mean)

    def gap(self, alpha, C, penalty=LINEAR, bounds=FREE):
        w = self.weights(alpha, C, bounds)
        return self.primal(w, C, penalty) - self.dual(alpha, C, penalty, bounds)


def cost(slack, penalty):
    return slack if penalty == LINEAR else 0.5 * slack**2


def conjugate(mass, penalty):
    return 0.0 * mass if penalty == LINEAR else 0.5 * mass**2


# --- the optimum -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Optimum:
    """``value`` is in the sum form, ``in_lambda_form`` is what taut reports."""

    value: float
    in_lambda_form: float
    w: np.ndarray
    slacks: np.ndarray
    alpha: list[np.ndarray]  # not unique


def qp_optimum(problem, C, penalty=LINEAR, bounds=FREE):
    """The optimum by the primal QP in (w, xi), to rounding."""
    w, alpha = spanned_optimum(problem.psi, problem.loss, C * problem.s, penalty, bounds)
    value = problem.primal(w, C, penalty)
    return Optimum(value, problem.in_lambda_form(value, C), w, problem.slacks(w), alpha)


def spanned_optimum(psi, loss, share, penalty=LINEAR, bounds=FREE):
    """min 1/2 |w|^2 + sum_b share_b h(xi_b), xi_b >= loss_b - psi_b w: w, and weights per block.

    Its dual is the problem over the simplexes (linear) or cones (squared) that the rows span.
    """
    dim, matters = psi[0].shape[1], np.flatnonzero(share)
    rows, counts = [psi[b] for b in matters], [len(psi[b]) for b in matters]
    program = QuadraticProgram()
    w = program.variables(1.0, np.zeros(dim))
    if penalty == LINEAR:
        xi = program.variables(0.0, share[matters])
    else:
        xi = program.variables(share[matters], np.zeros(len(matters)))
    owner = np.repeat(np.eye(len(matters)), counts, axis=0)
    losses = np.concatenate([loss[b] for b in matters])
    program.below([(w, -np.vstack(rows)), (xi, -owner)], -losses)
    for sign, bound in zip((-1.0, 1.0), bounds, strict=True):
        bound = np.broadcast_to(bound, dim)
        bounded = np.isfinite(bound)
        program.below([(w, sign * np.eye(dim)[bounded])], sign * bound[bounded])
    x, multipliers = program.solve_sharply()
    weights = [np.eye(1, len(one))[0] * (penalty == LINEAR) for one in psi]
    ends = np.cumsum(counts)
    for b, z in zip(matters, np.split(multipliers[: ends[-1]], ends[:-1]), strict=True):
        weights[b] = z / share[b]
    return np.clip(x[w], *bounds), weights


# --- simplicial decomposition --------------------------------------------------------------------


@dataclass
class Hull:
    """Extreme points (or rays) of one simplex (or cone), and maybe a retained iterate."""

    points: list  # (psi, loss)
    retained: tuple | None
    weights: np.ndarray  # of the points, then of the retained iterate

    @property
    def rows(self):
        everything = self.points + ([] if self.retained is None else [self.retained])
        return np.array([psi for psi, _ in everything]), np.array([loss for _, loss in everything])

    def current(self):
        psi, loss = self.rows
        return self.weights @ psi, self.weights @ loss

    def add(self, point, limit):
        if len(self.points) == limit:
            least = int(np.argmin(self.weights[:limit]))
            if self.weights[least] > 0:
                psi, loss = self.current()
                mass = self.weights.sum()  # one, or of a cone, where only the direction counts
                self.retained = psi / mass, loss / mass
            del self.points[least]
        self.points.append(point)

    def purge(self):
        """Drop the extreme points without weight."""
        used = self.weights[: len(self.points)] > 0
        self.points = [one for one, use in zip(self.points, used, strict=True) if use]
        self.weights = np.append(self.weights[: used.size][used], self.weights[used.size :])


@dataclass(frozen=True)
class Iterate:
    w: np.ndarray
    primal: float  # both in the sum form
    dual: float
    in_use: list[int]  # points with weight, of every hull

    @property
    def gap(self):
        return self.primal - self.dual


def simplicial(
    problem, C, *, simplexes="product", limit=None, penalty=LINEAR, bounds=FREE, purge=False,
    tol=1e-11, iterations=100,
):  # fmt: skip
    """The iterates of restricted simplicial decomposition, from the truth.

    Oracle; at the limit the point of least weight makes room, and if it had any the iterate is
    retained; then the master problem over all points, exactly.

    One simplex with squared slacks is made of tangent planes, sum_i s_i (a_i H_i(y_i) - a_i^2 / 2)
    with a_i = xi_i, and their dual value is below that of the masses they add up to.
    """
    product = simplexes == "product"
    share = C * problem.s if product else np.ones(1)
    cone = penalty == SQUARED and product
    within = penalty if product else LINEAR
    nothing = np.zeros(problem.dim), 0.0
    hulls = [Hull([], None if cone else nothing, np.ones(0 if cone else 1)) for _ in share]
    seen = []
    while True:
        w, dual = _dual_point(problem, hulls, share, within, bounds)
        in_use = [np.count_nonzero(hull.weights) for hull in hulls]
        seen.append(Iterate(w, problem.primal(w, C, penalty), dual, in_use))
        if seen[-1].gap <= tol * seen[0].primal or len(seen) > iterations:
            return seen
        corners = _corners(problem, w) if product else [_plane(problem, C, w, penalty)]
        for hull, corner in zip(hulls, corners, strict=True):
            if _improves(hull, corner, w, cone):
                hull.add(corner, limit)
        _solve_master(hulls, share, within, bounds)
        if purge:
            for hull in hulls:
                hull.purge()


def one_cone(problem, C, *, bounds=FREE, limit=None, iterations=100, tol=1e-11):
    """The iterates of Yu & Rousu's variant II with one cone, by their equations (26)-(30).

    Rays are kept as (sum_i s_i zeta_i psi_i, sum_i s_i zeta_i L_i, zeta), zeta_i in {0, 1}. The
    master is solved in the primal, whose constraints are those of single examples added up.
    """
    rays, retained, seen = [], [], []
    weights, psi, loss, mass = np.zeros(0), np.zeros(problem.dim), 0.0, np.zeros(problem.n)
    while True:
        w = np.clip(C * psi, *bounds)
        dual = C * (loss - problem.s @ conjugate(mass, SQUARED)) - (C * psi @ w - 0.5 * (w @ w))
        seen.append(Iterate(w, problem.primal(w, C, SQUARED), dual, [np.count_nonzero(weights)]))
        if seen[-1].gap <= tol * seen[0].primal or len(seen) > iterations:
            return seen
        if len(rays) == limit:
            retained = [(psi, loss, mass)]
            del rays[int(np.argmin(weights[:limit]))]
        zeta = (problem.slacks(w) > mass + 1e-12).astype(float)
        rows, losses = (np.array(part) for part in zip(*_corners(problem, w), strict=True))
        rays.append((problem.s * zeta @ rows, problem.s * zeta @ losses, zeta))
        rows, losses, masses = (np.array(part) for part in zip(*rays, *retained, strict=True))
        weights = _weights_of_rays(problem, C, rows, losses, masses, bounds)
        psi, loss, mass = weights @ rows, weights @ losses, weights @ masses


def _weights_of_rays(problem, C, rows, losses, masses, bounds):
    program, matters = QuadraticProgram(), problem.s > 0
    w = program.variables(1.0, np.zeros(problem.dim))
    xi = program.variables(C * problem.s[matters], np.zeros(matters.sum()))
    program.below([(w, -rows), (xi, -(masses * problem.s)[:, matters])], -losses)
    for sign, bound in zip((-1.0, 1.0), bounds, strict=True):
        bound = np.broadcast_to(bound, problem.dim)
        bounded = np.isfinite(bound)
        program.below([(w, sign * np.eye(problem.dim)[bounded])], sign * bound[bounded])
    return program.solve_sharply()[1][: len(losses)] / C


def _corners(problem, w):
    best = [values.argmax() for values in problem.values(w)]
    return [(psi[y], loss[y]) for (psi, loss), y in zip(problem.examples, best, strict=True)]


def _plane(problem, C, w, penalty):
    """One corner for all examples: a tangent plane of C sum_i s_i h(xi_i)."""
    corners = _corners(problem, w)
    slope = np.ones(problem.n) if penalty == LINEAR else problem.slacks(w)
    psi, loss = np.array([one for one, _ in corners]), np.array([one for _, one in corners])
    s = C * problem.s
    return (s * slope) @ psi, s @ (slope * loss - conjugate(slope, penalty))


def _improves(hull, corner, w, cone):
    value = corner[1] - corner[0] @ w
    if cone:
        before = hull.weights.sum()
    else:
        psi, loss = hull.current()
        before = loss - psi @ w
    return value > before + 1e-12 * (1 + abs(before))


def _solve_master(hulls, share, penalty, bounds):
    spanned = [(hull, c) for hull, c in zip(hulls, share, strict=True) if hull.rows[1].size]
    psi, loss = zip(*(hull.rows for hull, _ in spanned), strict=True)
    of_spanned = np.array([c for _, c in spanned])
    _, weights = spanned_optimum(psi, loss, of_spanned, penalty, bounds)
    for (hull, _), now in zip(spanned, weights, strict=True):
        hull.weights = now


def _dual_point(problem, hulls, share, penalty, bounds):
    """Its weights and value."""
    v, loss = np.zeros(problem.dim), 0.0
    for hull, c in zip(hulls, share, strict=True):
        if hull.weights.size:
            psi, of_hull = hull.current()
            v += c * psi
            loss += c * (of_hull - conjugate(hull.weights.sum(), penalty))
    w = np.clip(v, *bounds)
    return w, loss - (v @ w - 0.5 * (w @ w))


# --- problems ----------------------------------------------------------------------------------


def random_problem(seed, *, n=5, dim=3, labellings=6, ties=False, weighted=True):
    """Features and losses of normal and uniform numbers, or of few integers so that many tie.

    With ties there are duplicates, labellings that cost nothing, examples that have but one
    labelling, and one without weight.
    """
    rng = np.random.default_rng(seed)
    counts = rng.integers(1 if ties else 2, labellings + 1, n)
    counts[0] = labellings  # there is something to learn
    s = rng.uniform(0.3, 3.0, n) if weighted else np.ones(n)
    if ties:
        psi = [rng.integers(-1, 2, (count, dim)).astype(float) for count in counts]
        loss = [rng.integers(0, 3, count).astype(float) for count in counts]
        loss[0][-1], s[-1] = 1.0, 0.0 if n > 1 else 1.0
    else:
        psi = [rng.normal(size=(count, dim)) for count in counts]
        loss = [rng.uniform(0.1, 2.0, count) for count in counts]
    for rows, losses in zip(psi, loss, strict=True):
        rows[0], losses[0] = 0.0, 0.0
    return EnumeratedProblem(psi, loss, s)


def enumerated(reference):
    """The problem of a ``taut_reference.Reference``."""
    psi, loss = [], []
    for i, truth in enumerate(reference.Y):
        losses, rows = reference.table(i)
        is_truth = np.array([np.array_equal(y, truth) for y in reference.labellings(i)])
        order = np.argsort(~is_truth, kind="stable")
        psi.append(rows[order])
        loss.append(losses[order])
    return EnumeratedProblem(psi, loss, reference.s)


def enumerated_model(model, X, Y, labels, sample_weight=None):
    """The problem of a model in plain Python, whose example i may be labelled ``labels(X[i])``."""
    psi, loss = [], []
    for x, y in zip(X, Y, strict=True):
        others = [y, *(other for other in labels(x) if other != y)]
        truth = np.asarray(model.joint_feature(x, y))
        psi.append(np.array([truth - model.joint_feature(x, other) for other in others]))
        loss.append(np.array([model.loss(y, other) for other in others], float))
    s = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, float)
    return EnumeratedProblem(psi, loss, s)


class ListedModel:
    """An enumerated problem as a model in plain Python, for ``taut.PythonProblem``.

    Examples are their numbers; label (i, y) is row y of example i, the truth (i, 0).
    """

    def __init__(self, problem):
        self.problem, self.calls = problem, 0

    @property
    def X(self):
        return list(range(self.problem.n))

    @property
    def Y(self):
        return [(i, 0) for i in self.X]

    def joint_feature(self, x, y):
        return -self.problem.psi[y[0]][y[1]]

    def loss(self, y, y_hat):
        return float(self.problem.loss[y_hat[0]][y_hat[1]])

    def oracle(self, w, x, y):
        self.calls += 1
        return x, int(np.argmax(self.problem.loss[x] - self.problem.psi[x] @ w))

    def slack_oracle(self, w, x, y):
        self.calls += 1
        return x, int(np.argmax(self.problem.loss[x] * (1.0 - self.problem.psi[x] @ w)))

    def predict(self, w, x):
        return x, int(np.argmin(self.problem.psi[x] @ w))


def python_problem(listed, formulation="margin"):
    """An enumerated problem for taut's solvers; they see ``listed.formulated(formulation)``."""
    model = ListedModel(listed)
    return PythonProblem(model, model.X, model.Y, listed.s, formulation=formulation)


def compiled_pairs():
    """Compiled problems with their enumeration."""
    pairs = {
        "multiclass": multiclass_pair(7, 3, n_features=2, weighted=True, seed=1),
        "chain": chain_pair([3, 1, 2, 3], 2, n_features=2, seed=2),
        "sparse chain": chain_pair([3, 1, 2, 3], 2, n_features=5, kind="sparse", seed=3),
    }
    return {name: (problem, enumerated(reference)) for name, (problem, reference) in pairs.items()}
