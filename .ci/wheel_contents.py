"""Compare a wheel with the folders it is built from: `python wheel_contents.py WHEEL`.

Every file of a package is in the wheel, byte by byte, and the wheel has no other; what it says of
its files in RECORD is true. Only what is read in the repository stays out.
"""

import base64
import csv
import hashlib
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_SHIPPED = {".java", ".md", ".pyc"}
ROOMS = ("model", "solver", "control", "spark_stats", "adapters", "instances")
FOLDERS = {"edgeplace": "src/edgeplace", **{f"edgeplace.{room}": room for room in ROOMS}}


def main() -> None:
    """Exit with 1 and the differences, if there are any."""
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        shipped = {n: wheel.read(n) for n in wheel.namelist() if not n.endswith("/")}
    (record,) = (n for n in shipped if n.endswith(".dist-info/RECORD"))
    info = record.removesuffix("RECORD")
    wrong = [*_differences(info, shipped), *_false_records(record, shipped)]
    print(*wrong, sep="\n")
    if wrong:
        sys.exit(f"{sys.argv[1]}: {len(wrong)} files differ from the folders or from RECORD")
    print(f"{sys.argv[1]}: {len(shipped)} files, as in the folders")


def _differences(info: str, shipped: dict[str, bytes]) -> list[str]:
    sources = {}
    for package, folder in FOLDERS.items():
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and file.suffix not in NOT_SHIPPED:
                name = Path(*package.split("."), file.relative_to(ROOT / folder))
                sources[name.as_posix()] = file.read_bytes()
    about = (info, info.replace(".dist-info/", ".data/data/share/man/man1/"))
    ours = {n: data for n, data in shipped.items() if not n.startswith(about)}
    return [
        *(f"not in the wheel: {n}" for n in sorted(sources.keys() - ours.keys())),
        *(f"only in the wheel: {n}" for n in sorted(ours.keys() - sources.keys())),
        *(f"differs: {n}" for n in sorted(sources.keys() & ours.keys()) if sources[n] != ours[n]),
    ]


def _false_records(record: str, shipped: dict[str, bytes]) -> list[str]:
    rows = {name: digest for name, digest, _ in csv.reader(shipped[record].decode().splitlines())}
    true = {n: _digest(data) if n != record else "" for n, data in shipped.items()}
    return [
        f"RECORD is wrong: {n}"
        for n in sorted(rows.keys() | true.keys())
        if rows.get(n) != true.get(n)
    ]


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


if __name__ == "__main__":
    main()
