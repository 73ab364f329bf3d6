"""The sites on a map as SVG, where they have coordinates: no tiles, links by their bytes."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeplace.cli.quantities import counted
from edgeplace.instances.instance import Instance
from edgeplace.model import Cluster, Evaluation, Plan, Site, first_few
from edgeplace.report.markup import Markup, element, fragment
from edgeplace.report.parts import Section
from edgeplace.solver import sites_of
from edgeplace.views.pictures.label_places import Dot, names_beside, short

_MARGIN = 34
"""Room for the labels of sites above and below."""
_APART = 11
"""Least distance of two marks; sites that are nearer share a mark."""
_LEAST, _MOST = 4.0, 9.0
"""Radius of a mark."""
_LONGEST = 24
"""Most characters of a name."""
_KM_PER_DEGREE = 111.32
_SCALE = 0.18
"""Most of the width that the scale takes."""
_LEAST_SPAN = 0.01
"""Degrees that the picture spans at least: about a kilometre."""
_MOST_SAID = 12


@dataclass(frozen=True)
class _Size:
    """The size of a picture, of which each page shows the one that fits it."""

    name: str
    """Class of the figure."""
    width: float
    most_height: float
    least_height: float
    beside: float
    """Room for the labels of sites at the left and at the right."""


_SIZES = (_Size("wide", 720, 560, 260, 84), _Size("narrow", 350, 460, 200, 44))
"""For a desktop, and for a phone: names have the same size there, and fewer have room."""


@dataclass(frozen=True)
class _Mark:
    x: float
    y: float
    radius: float
    sites: tuple[str, ...]
    cloud: bool


@dataclass(frozen=True)
class _Line:
    start: _Mark
    end: _Mark
    said: str
    bytes_per_s: float


def map_section(case: Instance, plan: Plan, found: Evaluation) -> list[Section]:
    """Return the section with the map; none if fewer than two sites have coordinates."""
    placed = [s for s in case.cluster.sites if s.lat is not None]
    if len(placed) < 2:
        return []
    runs = _runs(case, plan)
    return [Section("map", "The map", fragment(_figure(case, found, runs, s) for s in _SIZES))]


def _figure(
    case: Instance, found: Evaluation, runs: Mapping[str, Counter[str]], size: _Size
) -> Markup:
    placed = [s for s in case.cluster.sites if s.lat is not None]
    at, height, km_per_px = _projected(placed, size)
    marks = _marks(placed, at, runs)
    lines = _lines(case.cluster, found, marks)
    names = names_beside(_dots(marks, lines), size.width, height, [_of_scale(height, size.width)])
    largest = max((line.bytes_per_s for line in lines), default=0.0)
    title, said = f"map-picture-{size.name}", f"map-said-{size.name}"
    picture = element(
        "svg",
        element("title", "The sites on a map", id=title),
        element("desc", _description(marks, lines, runs), id=said),
        element("rect", width=size.width, height=height, rx=8, class_="ground"),
        *(_line(a, largest) for a in lines),
        *(_mark(m, runs) for m in marks),
        *(element("text", n.text, x=n.x, y=n.y, text_anchor=n.anchor) for n in names),
        *_scale(km_per_px, height, size.width),
        class_="map",
        viewBox=f"0 0 {size.width:g} {height:g}",
        role="img",
        aria_labelledby=f"{title} {said}",
    )
    without, unnamed = len(case.cluster.sites) - len(placed), len(marks) - len(names)
    caption = element("figcaption", _caption(without, unnamed))
    return element("figure", picture, caption, class_=size.name)


def _runs(case: Instance, plan: Plan) -> Mapping[str, Counter[str]]:
    """Return the subtasks of each operator at each site."""
    site_of = sites_of(case.cluster)
    runs: dict[str, Counter[str]] = {s.id: Counter() for s in case.cluster.sites}
    for job in case.jobs:
        for op in job.operators:
            name = op.name if len(case.jobs) == 1 else f"{job.name}: {op.name}"
            for tm in plan.of(job.name)[op.id]:
                runs[site_of[tm]][name] += 1
    return runs


def _projected(
    sites: Sequence[Site], size: _Size
) -> tuple[list[tuple[float, float]], float, float]:
    """Return the point of each site, the height of the picture, and the kilometres of a pixel.

    Equirectangular, true to scale at the middle latitude. The picture is cut at the widest gap
    between longitudes, so that sites on both sides of the date line are neighbours.
    """
    lats = [s.lat or 0.0 for s in sites]
    lons = [s.lon or 0.0 for s in sites]
    ordered = sorted(lons)
    gaps = [b - a for a, b in zip(ordered, [*ordered[1:], ordered[0] + 360], strict=True)]
    first = ordered[(gaps.index(max(gaps)) + 1) % len(ordered)]
    east = [(lon - first) % 360 for lon in lons]
    squeeze = max(0.05, math.cos(math.radians((min(lats) + max(lats)) / 2)))
    wide = max(squeeze * max(east), _LEAST_SPAN)
    high = max(max(lats) - min(lats), _LEAST_SPAN)
    scale = min((size.width - 2 * size.beside) / wide, (size.most_height - 2 * _MARGIN) / high)
    height = max(size.least_height, scale * high + 2 * _MARGIN)
    left = (size.width - scale * squeeze * max(east)) / 2
    top = (height - scale * (max(lats) - min(lats))) / 2
    points = [
        (left + scale * squeeze * x, top + scale * (max(lats) - lat))
        for x, lat in zip(east, lats, strict=True)
    ]
    return points, height, _KM_PER_DEGREE / scale


def _marks(
    sites: Sequence[Site], at: Sequence[tuple[float, float]], runs: Mapping[str, Counter[str]]
) -> list[_Mark]:
    """Return a mark for each site; sites too near for marks of their own share one."""
    cells: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    groups: list[list[int]] = []
    for i, (x, y) in enumerate(at):
        column, row = int(x // _APART), int(y // _APART)
        around = ((column + a, row + b) for a in (-1, 0, 1) for b in (-1, 0, 1))
        near = (g for c in around for g in cells.get(c, ()))
        group = next((g for g in near if math.dist(at[groups[g][0]], (x, y)) < _APART), None)
        if group is None:
            cells[column, row].append(len(groups))
            groups.append([i])
        else:
            groups[group].append(i)
    held = [sum(runs[sites[i].id].total() for i in own) for own in groups]
    most = max(*held, 1)
    return [
        _Mark(
            *at[own[0]],
            _LEAST + (_MOST - _LEAST) * math.sqrt(n / most),
            tuple(sites[i].id for i in own),
            any(sites[i].tier == "cloud" for i in own),
        )
        for own, n in zip(groups, held, strict=True)
    ]


def _lines(cluster: Cluster, found: Evaluation, marks: Sequence[_Mark]) -> list[_Line]:
    """Return a line for each two marks that links join, the widest last."""
    mark_of = {site: m for m, mark in enumerate(marks) for site in mark.sites}
    used: dict[tuple[int, int], list[tuple[str, float]]] = {}
    carried = {link.where: link.used for link in found.links}
    for link in cluster.directed_links():
        a, b = mark_of.get(link.source), mark_of.get(link.target)
        where = f"{link.source} -> {link.target}"
        if a is not None and b is not None and a != b:
            used.setdefault((min(a, b), max(a, b)), []).append((where, carried[where]))
    lines = [
        _Line(
            marks[a],
            marks[b],
            first_few([f"{where} {cluster.rates_in.text(n)}" for where, n in own], 4),
            sum(n for _, n in own),
        )
        for (a, b), own in used.items()
    ]
    return sorted(lines, key=lambda line: line.bytes_per_s)


def _line(line: _Line, largest: float) -> Markup:
    share = line.bytes_per_s / largest if largest > 0 else 0.0
    return element(
        "line",
        element("title", line.said),
        x1=line.start.x,
        y1=line.start.y,
        x2=line.end.x,
        y2=line.end.y,
        stroke_width=1 + 6 * math.sqrt(share),
        class_="wan" if share > 0 else "idle",
    )


def _name(mark: _Mark) -> str:
    more = len(mark.sites) - 1
    return f"{short(mark.sites[0], _LONGEST)} +{more:,}" if more else short(mark.sites[0], _LONGEST)


def _said(mark: _Mark, runs: Mapping[str, Counter[str]]) -> str:
    own = sum((runs[s] for s in mark.sites), Counter())
    there = first_few([f"{name} ×{n:,}" for name, n in own.items()], _MOST_SAID)
    return f"{first_few(mark.sites, 4)}: {there or 'nothing runs here'}"


def _mark(mark: _Mark, runs: Mapping[str, Counter[str]]) -> Markup:
    title = element("title", _said(mark, runs))
    r = mark.radius
    if mark.cloud:
        x, y = mark.x - r, mark.y - r
        return element("rect", title, x=x, y=y, width=2 * r, height=2 * r, class_="place")
    return element("circle", title, cx=mark.x, cy=mark.y, r=r, class_="place")


def _dots(marks: Sequence[_Mark], lines: Sequence[_Line]) -> list[Dot]:
    """Return the marks with their names: the cloud, those with many links, with many subtasks."""
    joined = Counter(id(end) for line in lines for end in (line.start, line.end))
    ordered = sorted(marks, key=lambda m: (not m.cloud, -joined[id(m)], -m.radius))
    return [Dot(m.x, m.y, m.radius, _name(m)) for m in ordered]


def _of_scale(height: float, width: float) -> tuple[float, float, float, float]:
    """Return the edges of the room that the scale takes."""
    return 0, height - 34, 20 + _SCALE * width, height


def _scale(km_per_px: float, height: float, width: float) -> list[Markup]:
    """Return a bar of a round length, with its kilometres."""
    most = _SCALE * width * km_per_px
    step = 10.0 ** math.floor(math.log10(most))
    km = next(f * step for f in (5, 2, 1) if f * step <= most)
    x, y = 12, height - 12
    text = f"{km:g} km" if km >= 1 else f"{1000 * km:g} m"
    return [
        element("path", d=f"M{x} {y - 5:g}V{y:g}H{x + km / km_per_px:g}V{y - 5:g}", class_="scale"),
        element("text", text, x=x + 4, y=y - 5, class_="soft"),
    ]


def _caption(without: int, unnamed: int) -> str:
    text = (
        "Circles are edge sites and squares cloud sites, the larger the more subtasks; lines are "
        "links, the wider the more traffic in both directions, dashed if nothing crosses "
        "them. North is up. The tables have the figures."
    )
    if unnamed:
        text += f" {counted(unnamed, 'names')} had no room; a mark shows its own under the mouse."
    if without:
        text += f" Not on the map, for want of coordinates: {counted(without, 'sites')}."
    return text


def _description(
    marks: Sequence[_Mark], lines: Sequence[_Line], runs: Mapping[str, Counter[str]]
) -> str:
    ranked = sorted(marks, key=lambda m: (not m.cloud, -m.radius))
    sites = first_few([_said(m, runs) for m in ranked], _MOST_SAID)
    links = first_few([a.said for a in reversed(lines) if a.bytes_per_s > 0], _MOST_SAID)
    return f"Sites: {sites}. Links, the fullest first: {links or 'nothing crosses one'}."
