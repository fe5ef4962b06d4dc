"""The templates that come with taut, by name.

``chunking`` gives exactly the attributes of CRFsuite's chunking tutorial; ``pos`` and ``ner`` need
nothing but words.
"""

BUILT_IN = {
    "chunking": """
        columns: w pos
        w[-2..2]
        w[-1]|w[0]
        w[0]|w[1]
        pos[-2..2]
        pos[-2]|pos[-1]
        pos[-1]|pos[0]
        pos[0]|pos[1]
        pos[1]|pos[2]
        pos[-2]|pos[-1]|pos[0]
        pos[-1]|pos[0]|pos[1]
        pos[0]|pos[1]|pos[2]
        BOS
        EOS
    """,
    "pos": """
        columns: w
        lower(w[-2..2])
        w[0]
        lower(w[-1])|lower(w[0])
        lower(w[0])|lower(w[1])
        prefix(lower(w[0]), 1..4)
        suffix(lower(w[0]), 1..5)
        brief(w[-1..1])
        suffix(lower(w[-1]), 3)
        suffix(lower(w[1]), 3)
        BOS
        EOS
    """,
    "ner": """
        columns: w
        w[-2..2]
        lower(w[-1..1])
        lower(w[-1])|lower(w[0])
        lower(w[0])|lower(w[1])
        prefix(w[0], 1..4)
        suffix(w[0], 1..4)
        shape(w[0])
        brief(w[-2..2])
        brief(w[-1])|brief(w[0])
        brief(w[0])|brief(w[1])
        brief(w[-1])|brief(w[0])|brief(w[1])
        digits(w[0])
        BOS
        EOS
        BOS|brief(w[0])
    """,
}
