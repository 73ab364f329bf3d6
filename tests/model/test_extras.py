"""What is installed on demand, and the error that says how."""

import re
import tomllib
from pathlib import Path

import pytest

from edgeplace.model import MissingExtraError, is_installed, needing
from edgeplace.model.extras import extras

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def absent(name):
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("module", "extra"), [("numpy", "solve"), ("ortools.sat", "solve"), ("pyarrow", "spark")]
)
def test_a_module_that_an_extra_brings_says_which(module, extra):
    with pytest.raises(MissingExtraError) as e, needing():
        absent(module)
    assert e.value.cure == f"pip install 'edgeplace[{extra}]'"
    assert module.split(".")[0] in e.value.what


def test_numpy_is_of_the_extra_that_is_asked_for():
    with pytest.raises(MissingExtraError, match=r"edgeplace\[spark\]"), needing("spark"):
        absent("numpy")


def test_another_module_is_a_bug_and_stays_one():
    with pytest.raises(ModuleNotFoundError, match="edgeplase"), needing("solve"):
        absent("edgeplase.solver")


@pytest.mark.parametrize("extra", ["solve", "spark"])
def test_each_requirement_of_an_extra_is_known(extra):
    asked = {re.split(r"[<>=]", r)[0].strip() for r in PYPROJECT["optional-dependencies"][extra]}
    own = {name for name, names in extras._MODULES.items() if asked & set(names)}
    assert asked <= {name for e in own for name in extras._MODULES[e]}
    assert is_installed(extra)


def test_an_extra_without_one_of_its_modules_is_not_installed(monkeypatch):
    monkeypatch.setitem(extras._MODULES, "solve", ("numpy", "no_such_module"))
    assert not is_installed("solve")
