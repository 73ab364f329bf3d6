"""Install the agent's jar into a Flink home."""

from edgeplace.adapters.flink.install.configuration_line import KEY
from edgeplace.adapters.flink.install.install import Installation, install, uninstall

__all__ = ["KEY", "Installation", "install", "uninstall"]
