"""What the kernel would take for another quota is refused before it is asked."""

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
