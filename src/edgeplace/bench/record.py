"""The request, the answer and the record of one run of the bench."""

from collections.abc import Sequence
from enum import StrEnum

from edgeplace.model import Cluster, Evaluation, Frozen, Incumbent, NonNegative, Plan

NEGLIGIBLE_BYTES_PER_S = 1e-6
"""Two figures of `wan` that differ by less do not contradict each other. A smaller figure is not
used as a divisor. (The solver's `NEGLIGIBLE` is the resolution of the back ends, in any unit.)
"""


class RunOutcome(StrEnum):
    """The end of a run."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NONE = "none"
    """Neither a valid plan nor a proof."""
    KILLED = "killed"
    """The guard ended the run, because it exceeded its time limit."""
    MEMORY = "memory"
    """The run requested more than its share of the machine's memory."""
    ERROR = "error"
    """An exception or a crash."""


SOLVED = (RunOutcome.OPTIMAL, RunOutcome.INFEASIBLE)
FAILED = (RunOutcome.KILLED, RunOutcome.MEMORY, RunOutcome.ERROR)


class Request(Frozen):
    """The task of one process."""

    instance: str
    """Path of the instance."""
    answer: str
    """Path to write the answer to."""
    backend: str
    objective: tuple[str, ...]
    time_limit_s: float
    gap: float
    seed: int
    memory_bytes: int | None


class RunAnswer(Frozen):
    """The claims of a back end, and the evaluator's judgement of its plan."""

    outcome: RunOutcome
    claimed_wan: float | None = None
    """The back end's own figure; None if it gives none, or `wan` is not what it minimises first."""
    bound: NonNegative | None = None
    """The lower bound of `wan` that the back end claims; None as for `claimed_wan`."""
    plan: Plan | None = None
    evaluation: Evaluation | None = None
    incumbents: tuple[Incumbent, ...] = ()
    """Plans found during the search; empty for methods that report only their answer."""
    exact: bool = False
    """Whether the back end claims that its plan is valid. Methods that ignore limits do not."""
    build_s: float = 0.0
    run_s: float = 0.0
    memory_bytes: int | None = None
    message: str = ""

    @property
    def wan(self) -> float | None:
        """The `wan` of a valid plan, by the evaluator."""
        holds = self.evaluation is not None and self.evaluation.feasible
        return self.evaluation.wan_cost if self.evaluation and holds else None


class Run(Frozen):
    """One line of the results."""

    kind: str = "run"
    instance: str
    subtasks: int
    nodes: int
    sites: int
    backend: str
    status: RunOutcome
    wan: float | None
    latency_ms: float | None
    server_cores: float | None
    moves: int | None
    utilisation: float | None
    claimed_wan: float | None
    bound: float | None
    gap: float | None
    first_s: float | None
    """Seconds to the first valid plan. For published methods, which report only their answer, this
    is the time of the answer: an upper bound.
    """
    best_s: float | None
    """Seconds to the best plan; for published methods an upper bound."""
    proof_s: float | None
    build_s: float
    """Seconds to index jobs, cluster and rules, measured separately from the run."""
    run_s: float
    primal_integral_s: float | None
    """Seconds, weighted by the distance from the best known value; for published methods an upper
    bound.
    """
    memory_bytes: int | None
    holds: bool | None
    """Whether the plan is valid, by the evaluator; None without a plan."""
    breaks: tuple[str, ...]
    """Limits that the plan exceeds."""
    best_known_wan: float | None
    """Least `wan` of a valid plan that is recorded, or that a back end of this bench found."""
    wrong: tuple[str, ...]
    """What contradicts the evaluator, another back end or the record."""
    message: str

    @property
    def solved(self) -> bool:
        """Whether the run ended with a proof that nothing contradicts."""
        return self.status in SOLVED and not self.wrong


def found_by(answer: RunAnswer) -> list[tuple[float, float]]:
    """Return (seconds, `wan`) of the plans that a back end found during its search."""
    if answer.wan is None:
        return []
    steps = [(each.at_s, each.value) for each in answer.incumbents]
    return steps or [(answer.run_s, answer.wan)]


def negligible(cluster: Cluster) -> float:
    """Return what `NEGLIGIBLE_BYTES_PER_S` cost at most: the same in the unit of `wan`."""
    return NEGLIGIBLE_BYTES_PER_S * max((a.price_per_byte for a in cluster.links), default=1.0)


def gap(wan: float | None, bound: float | None, least: float) -> float | None:
    """Return (value - bound) / value, None if one of them is unknown.

    Parameters
    ----------
    least
        A value that is not larger than this is 0, and so is its gap.
    """
    if wan is None or bound is None:
        return None
    return max(0.0, wan - bound) / wan if wan > least else 0.0


def primal_integral(
    incumbents: Sequence[tuple[float, float]], best: float, ends_s: float, least: float
) -> float:
    """Return the primal integral up to a time, in seconds.

    The gap of the incumbent to the best value known, 1 before there is one, integrated over time
    (Berthold, Operations Research Letters 41(6), 2013).

    Parameters
    ----------
    incumbents
        (seconds, value) of each plan better than the ones before, by time.
    least
        As in `gap`.
    """
    total, since, height = 0.0, 0.0, 1.0
    for at, value in incumbents:
        at = min(at, ends_s)
        total += height * (at - since)
        scale = max(abs(value), abs(best))
        since, height = at, abs(value - best) / scale if scale > least else 0.0
    return total + height * max(0.0, ends_s - since)
