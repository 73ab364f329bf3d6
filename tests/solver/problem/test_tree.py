"""Routes on trees against networkx."""

from itertools import pairwise

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.solver.problem.tree import Tree


@st.composite
def trees(draw):
    n = draw(st.integers(1, 12))
    labels = draw(st.permutations(range(n)))
    edges = [(labels[i], labels[draw(st.integers(0, i - 1))]) for i in range(1, n)]
    return n, draw(st.permutations([e for a, b in edges for e in ((a, b), (b, a))]))


@settings(max_examples=200, deadline=None)
@given(trees())
def test_routes_are_those_of_the_graph(tree):
    n, ends = tree
    found = Tree.of(n, ends)
    graph = nx.DiGraph(ends)
    graph.add_nodes_from(range(n))
    a, b = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    crossed = [[] for _ in a]
    for which, links in found.steps(a, b):
        for i, link in zip(which.tolist(), links.tolist(), strict=True):
            crossed[i].append(link)
    for i, (s, d) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        path = nx.shortest_path(graph, s, d)
        route = tuple(ends.index(hop) for hop in pairwise(path))
        assert found.route(s, d) == route
        assert sorted(crossed[i]) == sorted(route)
    far = [max(nx.shortest_path_length(graph, s).values()) for s in range(n)]
    assert far[found.root] == min(far)


@settings(max_examples=200, deadline=None)
@given(trees(), st.data())
def test_what_lacks_a_link_or_has_one_too_many_is_no_tree(tree, data):
    n, ends = tree
    graph = nx.DiGraph(ends)
    missing = [(a, b) for a in range(n) for b in range(n) if a != b and not graph.has_edge(a, b)]
    if ends:
        gone = data.draw(st.sampled_from(ends))
        assert Tree.of(n, [e for e in ends if e != gone]) is None
    if missing:
        extra = data.draw(st.sampled_from(missing))
        assert Tree.of(n, [*ends, extra]) is None
        assert Tree.of(n, [*ends, extra, extra[::-1]]) is None


@settings(max_examples=200, deadline=None)
@given(trees(), st.sets(st.integers(0, 11)))
def test_idle_sites_without_links_leave_a_tree_and_have_no_routes(tree, idle):
    n, ends = tree
    numbers = [s for s in range(n + 3) if s not in idle][:n]
    alone = set(range(n + 3)) - set(numbers) if len(numbers) == n else set()
    numbers = numbers if alone else list(range(n))
    moved = [(numbers[a], numbers[b]) for a, b in ends]
    found = Tree.of(n + len(alone), moved, alone)
    plain = Tree.of(n, ends)
    assert set(np.flatnonzero(found.alone)) == alone
    a, b = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    at = np.array(numbers)
    same = [
        sorted((i, e) for which, links in t.steps(x, y) for i, e in zip(which, links, strict=True))
        for t, x, y in ((plain, a, b), (found, at[a], at[b]))
    ]
    assert same[0] == same[1]
    for s in alone:
        assert not list(found.steps(np.full(n, s), at))
        assert Tree.of(n + len(alone), moved, alone - {s}) is None
