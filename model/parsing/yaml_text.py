"""Safe YAML of bounded size: no objects, no repeated keys, no exploding aliases."""

from collections.abc import Iterator
from typing import Any

import yaml

MOST_ALIASED = 1_000_000
"""Most entries to which the aliases of a file may expand."""
MOST_NESTED = 100
"""Deepest nesting of lists and mappings. About ten thousand levels would end the process, not only
the parser.
"""


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """A safe YAML loader that refuses a repeated key instead of keeping the last one."""

    def construct_document(self, node: Any) -> Any:
        # This check is before the construction, because merge keys rewrite the nodes during it.
        _check_keys(node)
        _check_aliases(node)
        return super().construct_document(node)


def load_yaml(text: str) -> Any:
    """Return the plain content of YAML text.

    Raises
    ------
    yaml.YAMLError, ValueError, RecursionError
        If the text is not YAML, repeats a key, or has aliases that expand to too much.
    """
    _check_nesting(text)
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader


def compose_yaml(text: str) -> yaml.Node | None:
    """Return the tree of YAML or JSON text, with the line of each node; None if it is neither."""
    try:
        _check_nesting(text)
        return yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _check_nesting(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MOST_NESTED:
            mark: Any = event.start_mark
            raise yaml.constructor.ConstructorError(
                None, None, f"nested more than {MOST_NESTED} deep", mark
            )


def _check_keys(root: yaml.Node) -> None:
    left, done = [root], set()
    while left:
        at = left.pop()
        if id(at) in done:
            continue
        done.add(id(at))
        seen = set()
        for key_node, value_node in at.value if isinstance(at, yaml.MappingNode) else ():
            key = str(key_node.value)
            if key in seen and key != "<<":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
            left.append(value_node)
        if isinstance(at, yaml.SequenceNode):
            left += at.value


def _check_aliases(root: yaml.Node) -> None:
    """Count the entries of the document with all aliases expanded; an alias is a node that occurs
    again.
    """
    size: dict[int, int] = {}
    written = 0
    open_nodes: set[int] = set()
    left: list[tuple[yaml.Node, Iterator[yaml.Node]]] = [(root, _children(root))]
    open_nodes.add(id(root))
    while left:
        at, children = left[-1]
        child = next(children, None)
        if child is None:
            left.pop()
            open_nodes.discard(id(at))
            size[id(at)] = 1 + sum(size[id(c)] for c in _children(at))
            written += 1
            if size[id(at)] - written > MOST_ALIASED:
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f"its aliases (*name) stand for more than {MOST_ALIASED:,} entries",
                    at.start_mark,
                )
        elif id(child) in open_nodes:
            raise yaml.constructor.ConstructorError(
                None, None, "an alias (*name) stands for what it is in", child.start_mark
            )
        elif id(child) not in size:
            open_nodes.add(id(child))
            left.append((child, _children(child)))


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
