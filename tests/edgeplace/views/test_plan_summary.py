"""A plan in a few lines, on a terminal of 80 columns."""

import re
from collections import Counter
from io import StringIO

import pytest

from edgeplace.cli.console import Console
from edgeplace.cli.quantities import percent
from edgeplace.model import write
from edgeplace.solver import Alternative, Reason, evaluate, policies, solve
from edgeplace.views.plan_summary import fullest, gain, show_places
from edgeplace.views.reasons import because
from edgeplace.views.terms import Terms
from tests.support.depots import depots_cluster, forklifts, parcels

DEPOTS = 12
JOB, CLUSTER = parcels(DEPOTS), depots_cluster(DEPOTS)


class Terminal(StringIO):
    """A file that says it is a terminal."""

    def isatty(self):
        return True


def plain(text):
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]


def places(jobs, cluster, plan):
    out = StringIO()
    show_places(Console(out, StringIO()), jobs, cluster, plan)
    return out.getvalue().splitlines()


def test_sites_of_a_kind_are_one_row_with_the_subtasks_of_all():
    found = solve(JOB, CLUSTER)
    title, *rows = places([JOB], CLUSTER, found.plan)
    assert title.split() == ["sites", "subtasks"]
    kind = {n.id: n.node_class for n in CLUSTER.nodes}
    cameras = [kind[tm] for tm in found.plan.of("parcels")["camera"]]
    fast, slow = cameras.count("pi5"), cameras.count("pi4")
    assert rows[0].split("  ")[0] == "9 depot-* (pi4)"
    assert rows[0].endswith(f"camera {slow}")
    (pi5,) = (row for row in rows if "(pi5)" in row)
    assert pi5.endswith(f"camera {fast}, decode {fast}, detect {fast}")
    assert rows[-1].startswith("cloud (vm)")


def test_every_subtask_is_counted_once_and_by_job():
    jobs = [JOB, forklifts(DEPOTS)]
    rows = places(jobs, CLUSTER, solve(jobs, CLUSTER).plan)
    counted = sum(int(n) for row in rows for n in re.findall(r" (\d+)(?=[,;]|$)", row))
    assert counted == sum(op.parallelism for job in jobs for op in job.operators)
    assert rows[0].split() == ["sites", "job", "subtasks"]
    assert "parcels    camera" in rows[1]
    assert rows[2].split()[:2] == ["forklifts", "canbus"]


def test_few_sites_have_their_names():
    job, cluster = parcels(2), depots_cluster(2)
    rows = places([job], cluster, solve(job, cluster).plan)
    assert any(row.startswith("depot-00 (pi5)") for row in rows)


def test_what_is_gained_and_what_is_paid_is_a_sentence():
    found = solve(JOB, CLUSTER)
    (server,) = (p for p in policies(JOB, CLUSTER) if p.name == "all-server")
    said = gain("all-server", server.evaluation, found.evaluation, Terms.of(CLUSTER))
    gained, paid = said.split("; pays ")
    assert gained.startswith("against all-server")
    assert "weighted WAN cost" in gained
    assert " % less)" in gained
    assert paid.startswith("the worst path ")
    assert gain("it", found.evaluation, found.evaluation, Terms()) == "against it: gains nothing"


def test_what_is_gained_against_a_placement_that_does_not_hold_is_said_so():
    found = solve(JOB, CLUSTER).evaluation
    link = found.links[0].model_copy(update={"kind": "link"})
    broken = found.model_copy(update={"violations": (link,)})
    assert gain("current", broken, found, Terms()).startswith(
        "against current, which does not hold: "
    )


def test_limits_that_are_as_full_are_told_together():
    found = solve(JOB, CLUSTER).evaluation
    said = fullest(CLUSTER, found, None)
    assert said.startswith("fullest: ")
    assert said.count(";") == 2
    used = Counter(
        (limit.kind, percent(limit.utilisation))
        for limit in (*found.links, *found.nodes, *found.task_managers)
    )
    told = re.findall(r"(slots|link bandwidth) [^;]* and (\d+) more ([0-9.]+ %)", said)
    assert told and all(int(more) + 1 == used[kind, share] for kind, more, share in told)


def test_machines_of_a_site_that_are_less_full_are_not_counted_with_its_fullest():
    found = solve(JOB, CLUSTER).evaluation
    site = next(s for s in CLUSTER.sites if sum(n.site == s.id for n in CLUSTER.nodes) == 4)
    own = {n.id for n in CLUSTER.nodes if n.site == site.id}
    tms = [t for t in found.task_managers if t.where in own]
    used = [
        t.model_copy(update={"used": share * t.capacity})
        for t, share in zip(tms, (1.0, 1.0, 0.25, 0.0), strict=True)
    ]
    only = {"links": (), "nodes": (), "task_managers": tuple(used), "binding": None}
    said = fullest(CLUSTER, found.model_copy(update=only), None)
    assert said == f"fullest: slots {used[0].where} and 1 more 100 %"


@pytest.mark.slow
@pytest.mark.parametrize("currency", [None, "EUR"])
def test_forty_depots_and_two_jobs_are_told_in_25_lines_of_80_columns(
    on_terminal, tmp_path, currency
):
    files = [tmp_path / name for name in ("parcels.yaml", "forklifts.yaml", "cluster.yaml")]
    cluster = depots_cluster().model_copy(update={"currency": currency})
    for document, path in zip((parcels(), forklifts(), cluster), files, strict=True):
        write(document, path)
    lines = plain(on_terminal("solve", *files, columns=80).out)
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert lines[2].startswith("30 depot-* (pi4) ")
    assert "camera 29, decode 29, detect 29" in " ".join(lines)
    assert lines[-1].startswith("next: ")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("full", [(), ("--full",)])
def test_no_word_is_broken_at_any_width(on_terminal, tmp_path, columns, full):
    job, cluster = tmp_path / "job.yaml", tmp_path / "cluster.yaml"
    write(JOB, job)
    write(CLUSTER, cluster)
    wide = " ".join(plain(on_terminal("solve", job, cluster, *full, columns=400).out)).split()
    # A table without room is told cell by cell, and then its titles end in a colon.
    known = {*wide, *(f"{word}:" for word in wide)}
    lines = plain(on_terminal("solve", job, cluster, *full, columns=columns).out)
    seconds = re.compile(r"[\d.]+")
    words = {w for w in " ".join(lines).split() if not seconds.fullmatch(w) and w.strip("─")}
    assert words <= known
    assert all(len(line) <= columns for line in lines if " " in line.strip())


def test_a_cell_of_long_words_gets_lines_and_not_pieces():
    out = Terminal()
    console = Console(out, StringIO())
    console.out.width = 30
    console.table(("operator", "because"), [("decode", "on servers incomprehensibility " * 3)])
    assert plain(out.getvalue())[2].split() == ["decode", "on", "servers"]
    console.table(("operator", "because"), [("a-name-of-some-length", "incomprehensibility")])
    assert "because: incomprehensibility" in plain(out.getvalue())


def test_a_table_without_room_is_told_in_tables_that_each_name_their_rows():
    out = Terminal()
    console = Console(out, StringIO())
    console.out.width = 20
    rows = [("map", "pi", "first", "second"), ("", "vm", "third", ""), ("out", "", "", "last")]
    console.table(("name", "class", "some-title", "other"), rows, keys=(0,))
    told = [line.split() for line in plain(out.getvalue()) if line.strip("\u2500 ")]
    assert told == [
        ["name", "class"],
        ["map", "pi"],
        ["vm"],
        ["name", "some-title"],
        ["map", "first"],
        ["third"],
        ["name", "other"],
        ["map", "second"],
        ["out", "last"],
    ]


def test_values_that_look_alike_are_told_by_their_difference():
    plan = solve(JOB, CLUSTER).plan
    value = evaluate(JOB, CLUSTER, plan).wan_cost
    other = Alternative("beside its input", "wan", value, value * (1 + 1e-4), None, plan)
    said = because(
        Reason("parcels", "track", "track", ("cloud",), "", (other,)), Terms(priced=True)
    )
    assert re.search(r"would be worse by \S+/s, now ", said)
