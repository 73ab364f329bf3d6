"""Find the instances that the command line names."""

from collections.abc import Sequence
from pathlib import Path

from edgeplace.instances.families import generate
from edgeplace.instances.families.catalogue import FAMILIES
from edgeplace.instances.index import index
from edgeplace.instances.instance import Instance
from edgeplace.instances.latency_matrix import latency_matrix
from edgeplace.instances.topology import topology
from edgeplace.model import InvalidInputError, read

SUFFIXES = (".json", ".json.gz", ".yaml", ".yml")


def named(words: Sequence[str]) -> list[Instance]:
    """Return the named instances, in order, each once.

    A word is a file or a folder of instances, a family (its shipped instances), or a name
    FAMILY-SIZE-SEED. No words: all shipped instances.

    Raises
    ------
    InvalidInputError
        If a word names no instance, or a file has none.
    """
    found: dict[str, Instance] = {}
    for word in words or [e.name for e in index().instances]:
        for instance in _meant(word):
            other = found.setdefault(instance.name, instance)
            if other != instance:
                raise InvalidInputError(
                    f"two different instances are named {instance.name!r}", "rename one of them"
                )
    return list(found.values())


def from_network(path: str, edge_sites: int, seed: int) -> Instance:
    """Return an instance over a network: GraphML, or a CSV matrix of round-trip times.

    Raises
    ------
    InvalidInputError
        If the file is neither, by its name or by its content.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".graphml":
        return topology(path, edge_sites, seed)
    if suffix == ".csv":
        return latency_matrix(path, edge_sites, seed)
    raise InvalidInputError(
        f"--topology {path}: neither .graphml nor .csv",
        "give GraphML, or a square CSV of round-trip times in ms",
    )


def _meant(word: str) -> list[Instance]:
    path = Path(word)
    if path.is_dir():
        files = sorted(f for f in path.iterdir() if f.name.endswith(SUFFIXES))
        if not files:
            raise InvalidInputError(f"{path}: holds no instance", "give a folder of instances")
        return [read(f, Instance) for f in files]
    if path.is_file():
        return [read(path, Instance)]
    if word in FAMILIES:
        return [generate(e.name) for e in index().instances if e.name.rsplit("-", 2)[0] == word]
    if word.endswith(SUFFIXES):
        raise InvalidInputError(f"{word}: no such file", "check the path")
    return [generate(word)]
