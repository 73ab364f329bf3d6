"""Which place operators have in a graph of streams, as a hash that is the same in any job.

Colour refinement (Weisfeiler and Leman 1968): an operator's colour is made anew of its own and of
those of its neighbours, by direction and ship strategy, until nothing is told apart any more. Graph
neural networks that pass messages tell no more operators apart (Xu et al., ICLR 2019).
"""

import hashlib
from collections.abc import Iterable, Mapping

Edge = tuple[str, str, str]
"""Producer, consumer, ship strategy."""


def colours(labels: Mapping[str, str], edges: Iterable[Edge], rounds: int) -> dict[str, str]:
    """Return the colour of each operator.

    Colours of two graphs are comparable after the same number of rounds; as many as the larger one
    has operators are enough.

    Parameters
    ----------
    labels
        Operator -> what is known of it besides its place; empty: nothing.
    """
    edges = list(edges)
    now = {op: _hash(label) for op, label in labels.items()}
    for _ in range(rounds):
        seen: dict[str, list[str]] = {op: [] for op in now}
        for source, target, strategy in edges:
            seen[source].append(f"to {strategy} {now[target]}")
            seen[target].append(f"from {strategy} {now[source]}")
        now = {op: _hash(" ".join([colour, *sorted(seen[op])])) for op, colour in now.items()}
    return now


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
