"""The hard constraints of a scheme allow exactly the sequences that write some spans in it.

The encoder here writes spans as labels by the words of each scheme's definition, independently of
the table of links in the package; everything is enumerated.
"""

import re
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.metrics import spans
from taut.text.schemes import Scheme, borders, parse_labels, split_label, transitions

TYPES = ("X", "Y")
PREFIXES = {
    Scheme.IOB1: "IB",
    Scheme.IOB2: "IB",
    Scheme.IOE1: "IE",
    Scheme.IOE2: "IE",
    Scheme.IOBES: "BIES",
    Scheme.BILOU: "BILU",
}
LABELS = {
    scheme: ["O", *(f"{prefix}-{type_}" for prefix in prefixes for type_ in TYPES)]
    for scheme, prefixes in PREFIXES.items()
}
LENGTHS = range(1, 5)


def segmentations(n, start=0):
    """All ways to place spans (start, stop, type) on tokens start .. n."""
    if start >= n:
        yield ()
        return
    yield from segmentations(n, start + 1)
    for stop in range(start + 1, n + 1):
        for type_ in TYPES:
            for rest in segmentations(n, stop):
                yield ((start, stop, type_), *rest)


def encode(segments, n, scheme):
    """Write spans as labels."""
    labels = ["O"] * n
    for start, stop, type_ in segments:
        prefixes = ["I"] * (stop - start)
        touched_on_the_left = any(s[1] == start and s[2] == type_ for s in segments)
        touched_on_the_right = any(s[0] == stop and s[2] == type_ for s in segments)
        if scheme is Scheme.IOB2 or (scheme is Scheme.IOB1 and touched_on_the_left):
            prefixes[0] = "B"
        if scheme is Scheme.IOE2 or (scheme is Scheme.IOE1 and touched_on_the_right):
            prefixes[-1] = "E"
        if scheme in (Scheme.IOBES, Scheme.BILOU):
            last, single = "ES" if scheme is Scheme.IOBES else "LU"
            prefixes[0], prefixes[-1] = "B", last
            if stop - start == 1:
                prefixes[0] = single
        labels[start:stop] = [f"{prefix}-{type_}" for prefix in prefixes]
    return tuple(labels)


def accepts(allowed, numbers):
    return (
        allowed.begin[numbers[0]]
        and allowed.end[numbers[-1]]
        and all(allowed.step[a, b] for a, b in pairwise(numbers))
    )


def decode(labels, **reading):
    return decode_all([labels], **reading)[0]


def decode_all(y, **reading):
    found = [[] for _ in y]
    for span in spans(y, **reading):
        found[span.sequence].append((span.start, span.stop, span.type))
    return [tuple(part) for part in found]


every_scheme = pytest.mark.parametrize("scheme", list(Scheme), ids=lambda scheme: scheme.value)


@every_scheme
def test_the_encodings_of_spans_are_exactly_the_allowed_sequences(scheme):
    labels = LABELS[scheme]
    allowed = transitions(labels, scheme)
    for n in LENGTHS:
        accepted = {
            tuple(labels[k] for k in numbers)
            for numbers in product(range(len(labels)), repeat=n)
            if accepts(allowed, numbers)
        }
        assert accepted == {encode(segments, n, scheme) for segments in segmentations(n)}


@every_scheme
@pytest.mark.parametrize("reading", ["conlleval", "strict"])
def test_encoded_spans_are_read_back(scheme, reading):
    arguments = {"mode": reading} | ({"scheme": scheme} if reading == "strict" else {})
    for n in LENGTHS:
        for segments in segmentations(n):
            assert decode(encode(segments, n, scheme), **arguments) == segments


@every_scheme
def test_strict_spans_are_the_longest_that_the_scheme_would_write_so(scheme):
    """Also in faulty sequences: same labels in the span, same types beside it."""
    for n in LENGTHS:
        writings = set()
        for segments in segmentations(n):
            labels = encode(segments, n, scheme)
            for start, stop, type_ in segments:
                writings.add((start, stop, type_, *in_context(labels, start, stop)))
        places = [(i, j, type_) for i in range(n) for j in range(i + 1, n + 1) for type_ in TYPES]
        y = list(product(LABELS[scheme], repeat=n))
        for labels, found in zip(y, decode_all(y, mode="strict", scheme=scheme), strict=True):
            written = [
                (i, j, type_)
                for i, j, type_ in places
                if (i, j, type_, *in_context(labels, i, j)) in writings
            ]
            longest = [
                span
                for span in written
                if not any(o[0] <= span[0] and span[1] <= o[1] and o != span for o in written)
            ]
            assert found == tuple(sorted(longest))


def in_context(labels, start, stop):
    """The labels of a span, and the types of its neighbours."""
    left = labels[start - 1].partition("-")[2] if start > 0 else ""
    right = labels[stop].partition("-")[2] if stop < len(labels) else ""
    return labels[start:stop], left, right


@every_scheme
def test_between_two_allowed_labels_a_span_goes_on_or_is_cut(scheme):
    labels = LABELS[scheme]
    table = borders(labels, scheme)
    assert not (table.joined & (table.starts | table.ends)).any()
    in_span = np.array([label != "O" for label in labels])
    step = transitions(labels, scheme).step
    joined, starts, ends = (part[:-1, :-1][step] for part in table[:3])
    from_span, to_span = (
        np.broadcast_to(part, step.shape)[step] for part in (in_span[:, None], in_span)
    )
    np.testing.assert_array_equal(starts, ~joined & to_span)
    np.testing.assert_array_equal(ends, ~joined & from_span)


@every_scheme
def test_the_order_of_labels_does_not_matter(scheme):
    labels = LABELS[scheme]
    order = np.random.default_rng(0).permutation(len(labels))
    allowed = transitions(labels, scheme)
    shuffled = transitions([labels[k] for k in order], scheme)
    np.testing.assert_array_equal(shuffled.begin, allowed.begin[order])
    np.testing.assert_array_equal(shuffled.end, allowed.end[order])
    np.testing.assert_array_equal(shuffled.step, allowed.step[np.ix_(order, order)])


def test_iob2_in_full():
    allowed = transitions(["O", "B-X", "I-X", "B-Y", "I-Y"], Scheme.IOB2)
    assert allowed.begin.tolist() == [True, True, False, True, False]
    assert allowed.end.all()
    assert allowed.step.astype(int).tolist() == [
        [1, 1, 0, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 1, 1],
        [1, 1, 0, 1, 1],
    ]


def test_labels_without_o_and_without_type():
    allowed = transitions(["B", "I"], Scheme.BIO)
    assert allowed.begin.tolist() == [True, False]
    assert allowed.step.all()
    assert decode(["B", "I", "B", "O"]) == ((0, 2, ""), (2, 3, ""))


def test_no_labels_at_all():
    assert [part.shape for part in transitions([], Scheme.IOB2)] == [(0,), (0,), (0, 0)]


def test_a_type_may_contain_hyphens():
    assert split_label("B-NP-SBJ-1") == ("B", "NP-SBJ-1")
    tags = parse_labels(["B-NP-SBJ", "I-NP", "O", "I-NP-SBJ"], Scheme.IOB2)
    assert tags.type.tolist() == [0, 1, -1, 0]
    assert tags.types == ["NP-SBJ", "NP"]


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("IOB1", Scheme.IOB1),
        ("iob2", Scheme.IOB2),
        ("Bio", Scheme.IOB2),
        ("ioe1", Scheme.IOE1),
        ("IOE2", Scheme.IOE2),
        ("bioes", Scheme.IOBES),
        ("iobes", Scheme.IOBES),
        ("bilou", Scheme.BILOU),
        (Scheme.BIOES, Scheme.IOBES),
    ],
)
def test_names_of_schemes(name, scheme):
    assert Scheme.parse(name) is scheme


@pytest.mark.parametrize("name", ["IOB3", "", "parse", 2, None])
def test_what_is_not_a_scheme(name):
    with pytest.raises(ValueError, match=r"not a tagging scheme; the schemes are IOB1, IOB2, IOE1"):
        Scheme.parse(name)


@pytest.mark.parametrize(
    ("labels", "scheme", "message"),
    [
        (
            ["O", "S-PER", "B-PER"],
            Scheme.IOB2,
            r"'S-PER' does not belong to IOB2, whose labels are O, B-TYPE, I-TYPE; "
            r"all labels given would fit IOBES$",
        ),
        (["O", "X"], Scheme.IOB2, r"'X' does not belong to IOB2, .*; correct it$"),
        (["I-A", "E-A"], Scheme.BILOU, r"'E-A' .* would fit IOE1 or IOE2 or IOBES$"),
        (["O-PER"], Scheme.IOB1, r"'O-PER' does not belong to IOB1"),
        (["b-PER"], Scheme.IOB2, r"'b-PER' does not belong to IOB2"),
        ([""], Scheme.IOB2, r"the label '' does not belong to IOB2"),
        (["-PER"], Scheme.IOB2, r"'-PER' does not belong to IOB2"),
        ([7], Scheme.IOB2, r"the label 7 does not belong to IOB2"),
        (["NN"], None, r"'NN' does not belong to any tagging scheme, whose labels are O, B-TYPE,"),
    ],
)
def test_labels_of_no_or_another_scheme(labels, scheme, message):
    with pytest.raises(ValueError, match=message):
        parse_labels(labels, scheme)


@given(st.lists(st.text("OBIESLU-x\n é", max_size=4)), st.sampled_from([*Scheme, None]))
def test_any_text_is_a_label_or_refused_by_name(labels, scheme):
    def belongs(label):
        prefix = label.split("-")[0]
        prefixes = PREFIXES[scheme] if scheme else "BIESLU"
        return label == "O" or (len(prefix) == 1 and prefix in prefixes)

    misfits = [label for label in labels if not belongs(label)]
    if misfits:
        with pytest.raises(ValueError, match=re.escape(f"the label {misfits[0]!r} does not")):
            parse_labels(labels, scheme)
    else:
        tags = parse_labels(labels, scheme)
        named = ["O" if k < 0 else tags.types[k] for k in tags.type]
        assert named == ["O" if label == "O" else label[2:] for label in labels]
