"""Which method of inference is chosen for which graphs."""

import numpy as np
import pytest
from graph_reference import alone, complete, cycle, graph_pair, label_set_pair, path

from taut.inference.methods import FEW_BITS, RELAXED, Method, fitting_method, named_method


@pytest.mark.parametrize("method", list(Method), ids=lambda method: method.text)
def test_names_and_methods_correspond(method):
    assert named_method(method.text) is method


@pytest.mark.parametrize("name", ["", "MAX_SUM", "max_sum", "viterbi"])
def test_another_name_is_refused_with_the_list_of_names(name):
    with pytest.raises(ValueError, match=f"inference={name!r}; expected \"auto\", 'max-sum', "):
        named_method(name)


def chosen(**facts):
    standard = dict(is_forest=False, n_states=2, bits=1000.0, attractive=False)
    return fitting_method(**{**standard, **facts})


def test_what_is_exact_and_cheap_comes_first():
    assert chosen(is_forest=True) is Method.MAX_SUM
    assert chosen(is_forest=True, n_states=9, attractive=True) is Method.MAX_SUM
    assert chosen(bits=FEW_BITS) is Method.EXHAUSTIVE
    assert chosen(attractive=True) is Method.GRAPH_CUT
    assert chosen() is Method.ROOF_DUALITY
    assert chosen(n_states=3) is Method.MESSAGE_PASSING
    assert chosen(n_states=3, attractive=True) is Method.MESSAGE_PASSING


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("attractive", [False, True])
def test_training_never_gets_a_method_without_a_bound(n_states, attractive):
    assert chosen(n_states=n_states, attractive=attractive) is not Method.EXPANSION


@pytest.mark.parametrize(
    ("shapes", "options", "expected"),
    [
        ([path(20), alone(1)], {}, "max-sum"),
        ([path(20), cycle(3)], {}, "roof-duality"),
        ([complete(4), alone(1)], {}, "exhaustive"),
        ([cycle(9)], {}, "exhaustive"),
        ([cycle(10)], {}, "roof-duality"),
        ([cycle(10)], dict(pairwise="potts", attractive=True), "graph-cut"),
        ([cycle(6)], dict(states=(3,)), "message-passing"),
        ([cycle(5)], dict(states=(3,)), "exhaustive"),
    ],
    ids=["forest", "one cycle", "small", "9 bits", "10 bits", "attractive", "3 states", "few"],
)
def test_auto_looks_at_all_graphs(shapes, options, expected):
    relaxed = named_method(expected) in RELAXED
    problem, _ = graph_pair(shapes, relaxed=relaxed, **options)
    assert Method(problem.method).text == expected
    assert problem.certifies == ("LP relaxation" if relaxed else "")


def test_auto_for_label_sets():
    tree, few = label_set_pair(2, 5, path(5)[1]), label_set_pair(2, 5, complete(5)[1])
    assert Method(tree[0].method) is Method.MAX_SUM
    assert Method(few[0].method) is Method.EXHAUSTIVE


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("max-sum", {}, "the edges of graph 1 close a cycle"),
        ("graph-cut", dict(states=(3,)), "two states per node, node 0 of graph 0 has 3"),
        ("roof-duality", dict(states=(3,)), "two states per node, node 0 of graph 0 has 3"),
        ("graph-cut", {}, "set attractive=True"),
        ("expansion", {}, "set attractive=True"),
        ("expansion", dict(pairwise="potts", attractive=True), "would certify nothing"),
        ("exhaustive", dict(shapes=[path(2), path(30)]), r"2\^30 labellings of graph 1"),
        ("guess", {}, "inference='guess'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_method_that_does_not_fit_is_refused(name, options, message):
    options = {"shapes": [path(3), cycle(3)], **options}
    with pytest.raises(ValueError, match=message):
        graph_pair(inference=name, **options)


def test_a_method_is_named_by_a_string():
    with pytest.raises(TypeError, match="inference=3"):
        graph_pair([path(2)], inference=3)


def test_exhaustive_search_counts_labellings_not_nodes():
    problem, _ = graph_pair([cycle(4)], states=(3,), inference="exhaustive")
    assert Method(problem.method) is Method.EXHAUSTIVE
    assert np.isclose(problem.worst_losses()[0], 1.0)
