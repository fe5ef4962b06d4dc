"""The papers' baselines have no steps on tables over three or more nodes, and say so."""

import pytest
from table_reference import PROBLEMS

from papers.hu.gdmm import GDMM
from papers.hu.otrw import GiniOTRW
from papers.meshi.dlpw import DLPW
from taut.solvers import solve


@pytest.mark.parametrize("solver", [GDMM(), DLPW(), GiniOTRW()], ids=lambda one: one.name)
def test_baselines_refuse_tables_and_name_solvers_that_take_them(solver):
    message = r"steps on nodes, edges and counts, and there are 3 tables .* or \"idal\""
    with pytest.raises(ValueError, match=message):
        solve(PROBLEMS["loops"], solver, C=1.0)
