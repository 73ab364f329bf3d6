"""The linear model through PuLP: another way to HiGHS, row by row, to check ours against."""

import pulp

from edgeplace.solver.linear_model import Kind


def least(model, objective):
    """The least value of an objective; None if no solution exists."""
    problem = pulp.LpProblem("placement", pulp.LpMinimize)
    columns = [
        problem.add_variable(
            f"c{i:09d}", 0, upper, "Integer" if kind in (Kind.BINARY, Kind.COUNT) else "Continuous"
        )
        for i, (upper, kind) in enumerate(zip(model.upper, model.kinds, strict=True))
    ]
    goal = {column: 0.0 for column in columns}
    goal.update({columns[c]: v for c, v in objective.terms.items()})
    problem.setObjective(pulp.LpAffineExpression(goal))
    for i, row in enumerate(model.rows):
        sense = pulp.LpConstraintEQ if row.equality else pulp.LpConstraintLE
        terms = pulp.LpAffineExpression({columns[c]: v for c, v in row.terms.items()})
        problem.addConstraint(pulp.LpConstraint(terms, sense, f"r{i}", row.bound))
    problem.solve(pulp.HiGHS(msg=False, gapRel=1e-7))
    if problem.sol_status != pulp.LpSolutionOptimal:
        return None
    return pulp.value(problem.objective) + objective.constant
