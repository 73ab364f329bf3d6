"""The packages that Spark's workers need, for workers whose Python lacks them.

Spark's documentation ("Python Package Management") brings a whole Python along, packed by tools
that are not installed here. Workers need no more than pyarrow, so the archive has that and a script
which starts their own Python with it.
"""

import gzip
import sys
import tarfile
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from edgeplace.model.errors import MissingExtraError

_NAME = "edgeplace-python"
"""Folder on the workers into which Spark unpacks the archive."""
PYTHON = f"./{_NAME}/bin/python"
"""The script, from a worker's folder."""
_PACKAGE = "pyarrow"
_NOT_NEEDED = ("include", "tests", "src")
_LITTLE = 1
"""Level of gzip: the archive is sent once, and a higher level takes longer than the network."""


def packed(folder: Path) -> str:
    """Write the archive, and return its URI as Spark takes it: with the folder for its content.

    Parameters
    ----------
    folder
        Existing folder.

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed here, or not with its libraries.
    """
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # pyarrow is compiled for one minor version.
    script = (
        "#!/bin/sh\n"
        'packages="$(cd "$(dirname "$0")/../packages" && pwd)"\n'
        f'PYTHONPATH="$packages${{PYTHONPATH:+:$PYTHONPATH}}" exec {minor} "$@"\n'
    )
    path = folder / f"{_NAME}.tar.gz"
    # The same content each time: Spark Connect refuses another archive of the same name.
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", _LITTLE, file, mtime=0) as packing,
        tarfile.open(fileobj=packing, mode="w", dereference=True) as archive,
    ):
        start = tarfile.TarInfo("bin/python")
        start.mode, start.size = 0o755, len(script)
        archive.addfile(start, BytesIO(script.encode()))
        for place in _places():
            archive.add(place, f"packages/{place.name}", filter=_needed)
    return f"{path.as_uri()}#{_NAME}"


def _places() -> list[Path]:
    """Return the folders of the package: on some systems its libraries are beside it."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.origin:
        raise MissingExtraError(
            f"--package-python brings {_PACKAGE} along, which is not installed here",
            "pip install 'edgeplace[spark]'",
        )
    package = Path(spec.origin).parent
    places = [p for p in (package, package.with_name(f"{_PACKAGE}.libs")) if p.is_dir()]
    if not any(file for place in places for file in place.glob("libarrow*")):
        raise MissingExtraError(
            f"--package-python brings {_PACKAGE} along, and the libraries of the one in {package} "
            "are elsewhere",
            f"pip install {_PACKAGE} in a virtual environment: that one has them all",
        )
    return places


def _needed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    # packages / pyarrow / what is in it
    parts = Path(entry.name).parts
    if "__pycache__" in parts or (parts[2:3] and parts[2] in _NOT_NEEDED):
        return None
    # Workers in containers may not give files to other users.
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
