"""The extras: parts of edgeplace that are installed on demand, and the error if one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Literal

from edgeplace.model.errors import MissingExtraError

Extra = Literal["solve", "spark"]
_MODULES: dict[Extra, tuple[str, ...]] = {
    "solve": ("numpy", "networkx", "threadpoolctl", "pulp", "highspy", "ortools"),
    "spark": ("pyspark", "py4j", "pandas", "pyarrow"),
}
"""Extra -> the modules that it brings; pyproject.toml has their versions."""
_PURPOSES: dict[Extra, str] = {
    "solve": "deciding where subtasks run",
    "spark": "reading metric logs",
}
_TITLES = {"pyspark": "PySpark", "py4j": "PySpark"}


def is_installed(extra: Extra) -> bool:
    """Return whether all modules of an extra are there; none is loaded."""
    return all(find_spec(name) is not None for name in _MODULES[extra])


@contextmanager
def needing(wanted: Extra | None = None, purpose: str | None = None) -> Iterator[None]:
    """Import modules in the block that an extra brings.

    Parameters
    ----------
    wanted
        The extra; None: the first that brings the module that is missing.
    purpose
        What the modules are for, such as "reading metric logs"; None: what the extra is for.

    Raises
    ------
    MissingExtraError
        If one of the modules is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as e:
        module = (e.name or "").partition(".")[0]
        bringing = next((extra for extra, names in _MODULES.items() if module in names), None)
        if bringing is None:
            raise
        extra = wanted or bringing
        title = _TITLES.get(module, module)
        raise MissingExtraError(
            f"{purpose or _PURPOSES[extra]} needs {title}, which is not installed",
            f"pip install 'edgeplace[{extra}]'",
        ) from e
