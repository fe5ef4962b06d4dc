"""Solagna, Pilot, Zanatta (2022), BCFW for structured SVMs: its figure, and what it leaves open."""

import papers.shared  # noqa: F401  # before numpy starts: it limits threads
