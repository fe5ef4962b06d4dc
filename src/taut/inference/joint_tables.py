"""Tables of the joint states of several nodes: their marginals, and what makes them consistent.

A table of nodes with k_1, ..., k_m states is packed, the last node's state fastest: entry
(s_1, ..., s_m) is at ((s_1 k_2 + s_2) k_3 + ...) + s_m. ``size`` lists the k_j; marginals of all
nodes stand one after the other.
"""

from taut._compile import compiled


@compiled
def marginals_of_joint(table, size, out):
    """out = the marginals of all nodes."""
    stride, at = table.size, 0
    for j in range(out.size):
        out[j] = 0.0
    for j in range(size.size):
        stride = stride // size[j]
        for s in range(table.size):
            out[at + (s // stride) % size[j]] += table[s]
        at += size[j]


@compiled
def take_from_joint(messages, size, table):
    """table(s) -= sum_j message_j(s_j); the messages are laid out like marginals."""
    stride, at = table.size, 0
    for j in range(size.size):
        stride = stride // size[j]
        for s in range(table.size):
            table[s] -= messages[at + (s // stride) % size[j]]
        at += size[j]


@compiled
def _scale_down(table, size, wanted, found):
    """Node after node, make smaller what its marginals have too much of."""
    stride, at = table.size, 0
    for j in range(size.size):
        stride = stride // size[j]
        for k in range(size[j]):
            found[at + k] = 0.0
        for s in range(table.size):
            found[at + (s // stride) % size[j]] += table[s]
        for s in range(table.size):
            k = at + (s // stride) % size[j]
            if found[k] > wanted[k]:
                table[s] *= wanted[k] / found[k]
        at += size[j]


@compiled
def _shares_of_missing(size, wanted, found):
    """``found`` becomes how each node shares out what its marginals miss; returns that amount."""
    at, amount = 0, 0.0
    for j in range(size.size):
        missing = 0.0
        for k in range(at, at + size[j]):
            found[k] = max(wanted[k] - found[k], 0.0)
            missing += found[k]
        # All nodes miss the same but for rounding, which must not be magnified.
        for k in range(at, at + size[j]):
            found[k] = found[k] / missing if missing > 0.0 else wanted[k]
        if j == 0:
            amount = missing
        at += size[j]
    return amount


@compiled
def make_joint_consistent(table, size, wanted, found):
    """Change a table until its marginals are those ``wanted``; ``found`` is scratch memory.

    What is too heavy is scaled down; what is missing is added as the product.
    """
    _scale_down(table, size, wanted, found)
    marginals_of_joint(table, size, found)
    amount = _shares_of_missing(size, wanted, found)
    if amount > 0.0:
        for s in range(table.size):
            stride, at, share = table.size, 0, amount
            for j in range(size.size):
                stride = stride // size[j]
                share *= found[at + (s // stride) % size[j]]
                at += size[j]
            table[s] += share
