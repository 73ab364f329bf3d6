"""The house shows its plan: no folder is full, and a name stands for one thing."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("adapters", "control", "instances", "model", "solver", "spark_stats", "src", "testbed")
CATALOGUES = {"solver/baselines", "spark_stats"}
"""One method or one reader in each file: their length is no disorder."""
MOST_FILES = 16


def modules():
    """Python files of the product and of its benchmarks, once each, by their place."""
    for room in (*ROOMS, "benchmarks"):
        for path in sorted(ROOT.joinpath(room).rglob("*.py")):
            place = path.relative_to(ROOT)
            # `src/edgeplace/solver` and others are links to the rooms.
            if not any((ROOT / parent).is_symlink() for parent in place.parents):
                yield place


def test_no_folder_is_full():
    n = Counter(
        str(path.parent)
        for path in modules()
        if path.parts[0] != "benchmarks" and path.name != "__init__.py"
    )
    assert {folder for folder, files in n.items() if files > MOST_FILES} <= CATALOGUES


def test_no_module_name_stands_twice_in_a_room():
    seen = defaultdict(list)
    for path in modules():
        room = path.parts[:3] if path.parts[0] == "src" else path.parts[:1]
        if not path.name.startswith("__"):
            seen[room, path.name].append(str(path))
    assert [paths for paths in seen.values() if len(paths) > 1] == []


def test_no_public_class_has_the_name_of_another():
    seen = defaultdict(list)
    for path in modules():
        for node in ast.parse(ROOT.joinpath(path).read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                seen[node.name].append(str(path))
    assert {name: paths for name, paths in seen.items() if len(paths) > 1} == {}
