"""The five papers that taut implements, reproduced: one folder and one command each.

    make paper-osokin            or: python -m papers.osokin.run --help

``shared`` has what all five need: the command, kept rows, curves measured offline, figures.
"""
