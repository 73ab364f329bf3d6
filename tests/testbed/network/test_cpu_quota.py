"""Quotas that the kernel would misread are refused, and the machine's own use is counted."""

import time
from math import nan
from pathlib import Path

import pytest

cpu_quota = pytest.importorskip(
    "testbed.network.cpu_quota",
    reason="the testbed is not in the wheel, and not beside these tests",
)


@pytest.mark.parametrize("cores", [-1.0, 0.0, 0.009, nan])
def test_a_quota_of_too_few_cores_is_refused(cores: float, tmp_path: Path) -> None:
    quotas = object.__new__(cpu_quota.CpuQuotas)  # As if root had made its folder.
    quotas._root = tmp_path
    (tmp_path / "pi").mkdir()
    with pytest.raises(ValueError, match=r"is below 0\.01"):
        quotas.limit("pi", cores)
    assert not any((tmp_path / "pi").iterdir())
    quotas.limit("pi", 0.01)
    period, quota = ((tmp_path / "pi" / f"cpu.cfs_{n}_us").read_text() for n in ("period", "quota"))
    assert (period, quota) == ("100000", "1000")


def test_the_machine_is_busy_while_a_process_works() -> None:
    busy, own = cpu_quota.machine_busy_s(), time.process_time()
    while time.process_time() - own < 0.5:
        pass
    # Counted at ticks, a part may be missed.
    assert cpu_quota.machine_busy_s() - busy >= 0.4
