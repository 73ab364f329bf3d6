"""Kubernetes and its operator: what they do that would undo a plan."""

from collections.abc import Iterator

from edgeplace.adapters.flink.checks.finding import Finding, Severity
from edgeplace.adapters.flink.doctor.snapshot import Seen

_AUTOSCALER = ("job.autoscaler.enabled", "kubernetes.operator.job.autoscaler.enabled")
_SCALING = "job.autoscaler.scaling.enabled"


def check_native_mode(seen: Seen) -> Iterator[Finding]:
    """Tell whether Flink asks Kubernetes for its TaskManagers itself."""
    target = seen.configuration.get("execution.target", "")
    if target.startswith("kubernetes-"):
        yield Finding(
            Severity.PROBLEM,
            "Kubernetes",
            f"Flink runs in native mode (execution.target: {target}): it starts TaskManagers on "
            "any node, and no plan is obeyed",
            "run it in standalone mode: `mode: standalone` in the FlinkDeployment, with "
            "TaskManagers of your own; see docs/kubernetes.md",
        )


def check_autoscaler(seen: Seen) -> Iterator[Finding]:
    """Tell whether the operator changes the parallelism of jobs, too."""
    stated = next((k for k in _AUTOSCALER if _is_on(seen, k)), None)
    if stated is not None and _is_on(seen, _SCALING, otherwise=True):
        yield Finding(
            Severity.PROBLEM,
            "Kubernetes",
            f"the operator's autoscaler is on ({stated}: true): it restarts jobs in a parallelism "
            "of its own, and plans do not fit any more",
            f"{stated}: false in the FlinkDeployment's flinkConfiguration",
        )


def _is_on(seen: Seen, key: str, otherwise: bool = False) -> bool:
    return seen.configuration.get(key, str(otherwise)).lower() == "true"
