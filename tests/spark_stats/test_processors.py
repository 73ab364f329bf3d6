"""The processor time of TaskManagers: what last digits depend on."""

from edgeplace.spark_stats.processors import CpuTime
from edgeplace.spark_stats.totals import QuarterTotals


def test_task_managers_are_added_up_in_one_order_on_every_run():
    # Names have another hash in each process, and a sum of floats depends on its order.
    names = [f"tm-{i:02d}" for i in range(40)]
    managers = [QuarterTotals(name, -1, 0, {"cpu_ns": 1e9}) for name in reversed(names)]
    found = CpuTime.of(managers, (), {}, {}, {})
    assert list(found.cpu_ms) == names
    assert list(found.busy_ms) == names
