"""The README as PyPI shows it: with the links of this release, as PyPI has no relative ones."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
VERSION = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["version"]
OF_RELEASE = {
    "": f"https://github.com/edgeplace/edgeplace/blob/v{VERSION}/",
    "!": f"https://raw.githubusercontent.com/edgeplace/edgeplace/v{VERSION}/",
}
"""Prefix of a link, and of a picture."""
RELATIVE = re.compile(r"(!?)(\[[^]]*\])\((?![a-z]+:|#)([^)]+)\)")


def _absolute(link: re.Match[str]) -> str:
    picture, title, target = link.groups()
    return f"{picture}{title}({OF_RELEASE[picture]}{target})"


setup(
    long_description=RELATIVE.sub(_absolute, (HERE / "README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
