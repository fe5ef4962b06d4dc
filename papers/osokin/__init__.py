"""Osokin, Alayrac, Lukasewitz, Dokania, Lacoste-Julien (2016), Minding the gaps for block
Frank-Wolfe optimization of structured SVMs: its figures, table and toy example."""

import papers.shared  # noqa: F401  # before numpy starts: it limits threads
