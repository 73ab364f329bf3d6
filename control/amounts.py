"""The cost of WAN traffic in words: bytes, or money where the cluster has a currency."""

from edgeplace.model import MONTH_S, with_prefix


def amount(cost: float, currency: str = "") -> str:
    """Return a cost with its unit.

    Parameters
    ----------
    cost
        Bytes, each times the price of the links that it crosses; with a currency, money.
    """
    if currency:
        return f"{_money(cost)} {currency}"
    return with_prefix(cost, "B")


def by_time(cost_per_s: float, currency: str = "") -> str:
    """Return a cost per second with its unit: bytes are per second, money is a month's."""
    if currency:
        return f"{amount(cost_per_s * MONTH_S, currency)} a month"
    return f"{amount(cost_per_s)}/s"


def _money(value: float) -> str:
    """Return an amount; what is less than a hundredth keeps two digits that say something."""
    return f"{value:.2g}" if 0 < abs(value) < 0.01 else f"{value:,.2f}"
