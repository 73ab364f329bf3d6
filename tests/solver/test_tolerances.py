"""Every tolerance of the solver stands in solver/tolerances.py."""

import ast
from pathlib import Path

from edgeplace.solver import tolerances as t

SOLVER = Path(t.__file__).parent
GUARDS = ("max", "maximum")
"""Calls that keep a divisor from being 0: their numbers are no tolerances."""


def test_no_function_has_a_tolerance_of_its_own() -> None:
    """A number that small within a function is a tolerance, unless it guards a division."""
    bare = [
        f"{path.relative_to(SOLVER)}:{line}"
        for path in sorted(SOLVER.rglob("*.py"))
        for line in _small_numbers(ast.parse(path.read_text()))
    ]
    assert not bare


def test_each_is_on_the_right_side_of_the_others() -> None:
    """What back ends resolve is below what is called optimal, and that below a contradiction."""
    assert max(t.FEASIBILITY, t.HIGHS_GAP, t.PULP_GAP, t.PULP_DIGITS) < t.OPTIMAL_GAP
    assert t.OPTIMAL_GAP < t.CONTRADICTION
    assert max(t.TOLERANCE, t.FEASIBILITY) < t.HORIZON_ROOM
    assert t.TOLERANCE < t.SHARE_ROOM
    assert t.FEASIBILITY < t.INTEGRALITY
    assert t.CANCELLATION < t.ROUNDING


def _small_numbers(module: ast.Module) -> list[int]:
    """Return the lines of the numbers above 0 and up to 1e-4 within functions."""
    inside = {
        node for f in ast.walk(module) if isinstance(f, ast.FunctionDef) for node in ast.walk(f)
    }
    guards = {
        argument
        for node in inside
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in GUARDS
        for argument in node.args
    }
    return [
        node.lineno
        for node in inside - guards
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and 0 < node.value <= 1e-4
    ]
