from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeplace.adapters.flink import schedulercfg
from edgeplace.model import Cluster, InvalidInputError, JobGraph, Node, Operator, Site, TaskManager

NASTY = [
    "Map",
    "Map (1/2)",
    "Map (1/1); 10.0.0.1",
    "Source: a -> (b, Sink: c)",
    "Calc[12]",
    'say "hi"',
    "emoji 🛰️",
    "naïve é",
    "two\nlines",
    "carriage\r",
    " blank ends ",
    "semicolon;",
    "a;b",
    "# comment",
    "tab\there",
    "no\u00a0break",
    "\ufeffbom",
    "(1/1)",
    "; ",
]


def job_of(*operators: tuple[str, int]) -> JobGraph:
    return JobGraph(
        name="job",
        operators=tuple(
            Operator(id=f"{i:032x}", name=name, parallelism=p)
            for i, (name, p) in enumerate(operators, 1)
        ),
    )


def cluster_of(*task_managers: tuple[str, str]) -> Cluster:
    return Cluster(
        sites=(Site(id="s"),),
        nodes=(Node(id="n", site="s", cores=4),),
        task_managers=tuple(
            TaskManager(id=tm, node="n", slots=4, host=host) for tm, host in task_managers
        ),
    )


JOB = job_of(("Source: src", 1), ("map", 2), ("map", 2), ("Sink: end", 1))
SRC, MAP, MAP2, END = (op.id for op in JOB.operators)
CLUSTER = cluster_of(
    ("pi-1", "192.168.1.18"), ("pi-2", "192.168.1.180"), ("a", "server"), ("b", "server")
)
PLAN = {SRC: ("pi-1",), MAP: ("pi-1", "pi-2"), MAP2: ("a", "b"), END: ("b",)}
TEXT = f"""\
Source: src (1/1); 192.168.1.18
{MAP} (1/2); 192.168.1.18
{MAP} (2/2); 192.168.1.180
{MAP2} (1/2); a
{MAP2} (2/2); b
Sink: end (1/1); b
"""


def parse(text: str, dialect: schedulercfg.Dialect = "auto") -> dict[str, tuple[str, ...]]:
    return schedulercfg.parse(text, job=JOB, cluster=CLUSTER, dialect=dialect)


def test_names_and_hosts_where_they_are_unique_else_ids() -> None:
    assert schedulercfg.render(PLAN, JOB, CLUSTER) == TEXT
    assert parse(TEXT) == PLAN


def test_order_and_the_last_line_end_do_not_matter() -> None:
    assert parse("\n".join(reversed(TEXT.splitlines()))) == PLAN
    assert parse(TEXT + "\n\n") == PLAN


def test_resource_ids_may_stand_where_hosts_would_do() -> None:
    assert parse(TEXT.replace("192.168.1.180", "pi-2")) == PLAN


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "schedulercfg"
    path.write_text(TEXT)
    assert schedulercfg.read(path, job=JOB, cluster=CLUSTER) == PLAN
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    with pytest.raises(InvalidInputError, match=r"schedulercfg: 1 problem\n.*6 carriage returns"):
        schedulercfg.read(path, job=JOB, cluster=CLUSTER)
    path.write_bytes(b"a; b\n\xff; b\n")
    with pytest.raises(InvalidInputError, match=r"schedulercfg:2: not UTF-8"):
        schedulercfg.read(path, job=JOB, cluster=CLUSTER)
    with pytest.raises(InvalidInputError, match="gone: no such file"):
        schedulercfg.read(tmp_path / "gone", job=JOB, cluster=CLUSTER)


BROKEN = [
    ("", "", "the file is empty"),
    ("Sink: end (1/1); b\n", "", "1 of the 1 subtasks of 'Sink: end' have no valid line: 1"),
    ("Sink: end (1/1); b\n", "", "write `Sink: end (1/1); <location>`"),
    (f"{MAP} (2/2); 192.168.1.180\n", "", f"write `{MAP} (2/2); <location>`"),
    ("Sink", "\nSink", "line 6: the line is blank"),
    ("Sink", "  \nSink", "line 6: the line is blank"),
    ("end (1/1); b", "end (1/1) b", "line 6: 'Sink: end (1/1) b' has no '; '"),
    ("end (1/1); b", "end (1/1);b", "line 6: 'Sink: end (1/1);b' has no '; '"),
    ("end (1/1); b", "end (1/1); b; c", "line 6: 'Sink: end (1/1); b; c' has more than one '; '"),
    ("end (1/1); b", "end (1/1); b ", "line 6: 'Sink: end (1/1); b ' has blanks"),
    ("end (1/1); b", "end (1/1);  b", "line 6: 'Sink: end (1/1);  b' has blanks"),
    ("Sink", " Sink", "line 6: ' Sink: end (1/1); b' has blanks"),
    ("\nSink", "\r\nSink", "line 5: 1 carriage returns (CR)"),
    ("Source", "\ufeffSource", "line 1: a byte order mark"),
    ("Sink: end", "Sink: ent", "line 6: the job has no task 'Sink: ent'; cure: did you mean 'Sink"),
    ("Sink: end", "Zebra", "line 6: the job has no task 'Zebra'; cure: use one of ["),
    ("Sink: end", "sink: end", "did you mean 'Sink: end'"),
    (MAP, "map", "line 2: 'map' means 2 tasks: ['map', 'map']; cure: use their JobVertexIDs"),
    (
        "end (1/1)",
        "end",
        "line 6: task 'Sink: end' lacks its subtask; cure: write `Sink: end (i/n)",
    ),
    ("end (1/1)", "end (0/1)", "line 6: 'Sink: end (0/1)': there is no subtask 0 of 1"),
    ("end (1/1)", "end (2/1)", "line 6: 'Sink: end (2/1)': there is no subtask 2 of 1"),
    ("end (1/1)", "end (01/1)", "without leading zeros"),
    ("end (1/1)", "end (1/3)", "line 6: 'Sink: end (1/3)' speaks of parallelism 3"),
    ("end (1/1)", "end (1/1) (1/1)", "the job has no task 'Sink: end (1/1)'"),
    ("end (1/1)", "end (٢/٢)", "line 6: task 'Sink: end (٢/٢)' lacks its subtask"),
    (f"{MAP} (2/2)", f"{MAP} (1/2)", f"line 3: '{MAP} (1/2)' has a line already: line 2"),
    ("Sink", f"{END} (1/1); a\nSink", "line 7: 'Sink: end (1/1)' has a line already: line 6"),
    ("end (1/1); b", "end (1/1); c3po", "line 6: the cluster has no TaskManager 'c3po'"),
    ("end (1/1); b", "end (1/1); server", "'server' means 2 TaskManagers: ['a', 'b']"),
    ("192.168.1.180", "192.168.1.1", "did you mean '192.168.1.18'"),
    ("192.168.1.180", "192.168.1.180:", "the cluster has no TaskManager '192.168.1.180:'"),
]


@pytest.mark.parametrize(("old", "new", "says"), BROKEN)
def test_broken_files_name_line_and_cure(old: str, new: str, says: str) -> None:
    with pytest.raises(InvalidInputError) as e:
        parse(TEXT.replace(old, new, 1) if old else new)
    assert says in e.value.what
    assert e.value.cure


def test_all_problems_are_told_at_once() -> None:
    broken = TEXT.replace("Source: src", "Sauce").replace("end (1/1); b", "end (1/1); x")
    with pytest.raises(InvalidInputError) as e:
        parse(broken.replace(f"{MAP} (1/2)", f"{MAP} (1/4)"))
    listed = e.value.what.split("\n  ")
    assert listed[0] == "schedulercfg: 5 problems"
    assert [text.split(":")[0] for text in listed[1:4]] == ["line 1", "line 2", "line 6"]
    assert "'Source: src'" in listed[4]
    assert "'map'" in listed[5]


def test_a_long_list_is_cut_but_counted() -> None:
    with pytest.raises(InvalidInputError) as e:
        parse("x (1/1); y\n" * 1000)
    assert "1004 problems" in e.value.what
    assert e.value.what.endswith("and 984 more")
    assert len(e.value.what) < 5000


def test_the_bu_fork_takes_the_last_line_and_parts_of_locations() -> None:
    job = job_of(("Mapper", 2))
    op = job.operators[0].id
    text = "Mapper (1/2); 192.168.1.180\nMapper (2/2); 18:\nMapper (1/2); pi-2\n"
    found = schedulercfg.parse(text, job=job, cluster=CLUSTER, dialect="bu")
    assert found == {op: ("pi-2", "pi-1")}
    trap = "Mapper (1/2); 192.168.1.18\nMapper (2/2); pi-1\n"
    with pytest.raises(InvalidInputError) as e:
        schedulercfg.parse(trap, job=job, cluster=CLUSTER, dialect="bu")
    assert "line 1: location '192.168.1.18' is part of 2 TaskManagers" in e.value.what
    assert "write `192.168.1.18:`" in e.value.what
    assert schedulercfg.parse(trap, job=job, cluster=CLUSTER) == {op: ("pi-1", "pi-1")}


def test_the_bu_fork_knows_no_job_vertex_ids() -> None:
    with pytest.raises(InvalidInputError, match=f"the job has no task '{MAP}'"):
        parse(TEXT, "bu")


CAPSYS_JOB = job_of(("Source: src -> ts", 2), ("map", 3), ("end", 1))
CAPSYS_PLAN = {
    CAPSYS_JOB.operators[0].id: ("pi-1", "pi-2"),
    CAPSYS_JOB.operators[1].id: ("pi-2", "pi-1", "pi-2"),
    CAPSYS_JOB.operators[2].id: ("a",),
}


def parse_capsys(text: str) -> dict[str, tuple[str, ...]]:
    return schedulercfg.parse(text, job=CAPSYS_JOB, cluster=CLUSTER)


def test_capsys_gives_lines_to_subtasks_in_order() -> None:
    text = (
        "Source: src -> ts; 192.168.1.18:\nSource: src -> ts; 192.168.1.180\n"
        "map; 192.168.1.180\nmap; 192.168.1.18:\nmap; 192.168.1.180\nend; a\n"
    )
    assert parse_capsys(text) == CAPSYS_PLAN
    by_hand = "map; pi-2\nsrc; pi-1\nend; a\nmap; pi-1\nsrc; pi-2\nmap; pi-2\n"
    assert parse_capsys(by_hand) == CAPSYS_PLAN


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("map; a\n", "2 of the 2 subtasks of 'Source: src -> ts' have no valid line"),
        ("1; pi-1\n", "line 1: '1' means 3 tasks"),
        ("mop; pi-1\n", "line 1: the job has no task 'mop'; cure: did you mean 'map'"),
        ("map; pi-1\nmap; pi-1\n", "1 of the 3 subtasks of 'map' have no valid line: 3"),
        ("end; a\nend; b\n", "line 2: 2 lines for key 'end', which has 1 subtasks"),
        ("map; a\nmap; a\nmap; a\nap; b\n", "line 4: 'map' is matched by the keys 'map' and 'ap'"),
        ("end; 192.168.1.18\n", "is part of 2 TaskManagers: ['pi-1', 'pi-2']"),
        ("end; nowhere\n", "the cluster has no TaskManager 'nowhere'"),
    ],
)
def test_broken_capsys_files(text: str, says: str) -> None:
    with pytest.raises(InvalidInputError) as e:
        parse_capsys(text)
    assert says in e.value.what


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ({}, "0 places for 1 subtasks of 'm'"),
        ({f"{1:032x}": ("a", "a")}, "2 places for 1 subtasks of 'm'"),
        ({f"{1:032x}": ("zzz",)}, "the cluster has no TaskManager 'zzz'"),
        ({f"{1:032x}": ("a",), "ghost": ("a",)}, "has no operator 'ghost'"),
    ],
)
def test_plans_that_do_not_fit(plan: dict[str, tuple[str, ...]], says: str) -> None:
    with pytest.raises(InvalidInputError) as e:
        schedulercfg.render(plan, job_of(("m", 1)), CLUSTER)
    assert says in e.value.what


def test_what_cannot_be_written_is_refused() -> None:
    job = JobGraph(
        name="job", operators=(Operator(id="two\nlines", name="two\nlines", parallelism=1),)
    )
    with pytest.raises(InvalidInputError, match="neither a name nor an id"):
        schedulercfg.render({"two\nlines": ("a",)}, job, CLUSTER)
    odd = cluster_of(("x; y", ""))
    with pytest.raises(InvalidInputError, match="neither a host nor an id"):
        schedulercfg.render({f"{1:032x}": ("x; y",)}, job_of(("m", 1)), odd)


def test_a_host_that_is_another_task_managers_id_is_not_used() -> None:
    crossed = cluster_of(("a", "b"), ("b", "c"))
    job = job_of(("m", 2))
    plan = {job.operators[0].id: ("a", "b")}
    text = schedulercfg.render(plan, job, crossed)
    assert text == "m (1/2); a\nm (2/2); c\n"
    assert schedulercfg.parse(text, job=job, cluster=crossed) == plan


names = st.one_of(st.sampled_from(NASTY), st.text(min_size=1, max_size=12))
hosts = st.one_of(
    st.just(""), st.sampled_from(["10.0.0.1", "10.0.0.10", "tm-1", "tm-2", "x; y", " h", "ü"])
)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.tuples(names, st.integers(1, 4)), min_size=1, max_size=6),
    st.lists(hosts, min_size=1, max_size=5),
    st.data(),
)
def test_what_is_written_is_read_back(
    operators: list[tuple[str, int]], tm_hosts: list[str], data: st.DataObject
) -> None:
    job = job_of(*operators)
    cluster = cluster_of(*((f"tm-{i}", host) for i, host in enumerate(tm_hosts)))
    tm = st.sampled_from([t.id for t in cluster.task_managers])
    plan = {
        op.id: tuple(data.draw(st.lists(tm, min_size=op.parallelism, max_size=op.parallelism)))
        for op in job.operators
    }
    try:
        text = schedulercfg.render(plan, job, cluster)
    except InvalidInputError as e:
        # Only where the id of one TaskManager is the host of another.
        assert "neither a host nor an id" in e.what
        assert {t.id for t in cluster.task_managers} & {*tm_hosts}
        return
    text.encode()
    found = schedulercfg.parse(text, job=job, cluster=cluster, dialect="modern")
    assert found == plan


@settings(deadline=None)
@given(st.text(alphabet="ab ();/12\n\r", max_size=40))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    job = job_of(("a", 1), ("b", 2))
    for dialect in ("auto", "modern", "bu", "capsys"):
        try:
            found = schedulercfg.parse(text, job=job, cluster=CLUSTER, dialect=dialect)
        except InvalidInputError as e:
            assert "problem" in e.what or "empty" in e.what
        else:
            assert {op: len(places) for op, places in found.items()} == {
                op.id: op.parallelism for op in job.operators
            }
            assert {tm for row in found.values() for tm in row} <= {"pi-1", "pi-2", "a", "b"}


# SQL: the planner numbers vertices with a counter that grows from one submission to the next.

SQL = job_of(("Calc[3] -> Sink[4]", 1), ("Calc[5]", 2), ("Calc[8]", 1), ("plain[x]", 1))
FIRST, SECOND, THIRD, PLAIN = (op.id for op in SQL.operators)
SQL_PLAN = {FIRST: ("pi-1",), SECOND: ("pi-1", "pi-2"), THIRD: ("a",), PLAIN: ("b",)}


def test_numbers_in_brackets_count_for_nothing() -> None:
    text = schedulercfg.render(SQL_PLAN, SQL, CLUSTER)
    assert text.startswith("Calc[3] -> Sink[4] (1/1); ")
    other = text.replace("Calc[3] -> Sink[4]", "Calc[17] -> Sink[18]")
    assert schedulercfg.parse(other, job=SQL, cluster=CLUSTER) == SQL_PLAN
    assert schedulercfg.parse(text.replace("[3]", ""), job=SQL, cluster=CLUSTER) == SQL_PLAN


def test_names_that_differ_in_these_only_go_by_id() -> None:
    text = schedulercfg.render(SQL_PLAN, SQL, CLUSTER)
    assert f"{SECOND} (1/2); " in text
    assert f"{THIRD} (1/1); " in text
    assert schedulercfg.parse(text, job=SQL, cluster=CLUSTER) == SQL_PLAN
    with pytest.raises(InvalidInputError, match=r"'Calc\[8\]' means 2 tasks"):
        schedulercfg.parse(text.replace(THIRD, "Calc[8]"), job=SQL, cluster=CLUSTER)


def test_other_brackets_are_part_of_the_name() -> None:
    text = schedulercfg.render(SQL_PLAN, SQL, CLUSTER).replace("plain[x]", "plain[y]")
    with pytest.raises(InvalidInputError, match=r"no task 'plain\[y\]'"):
        schedulercfg.parse(text, job=SQL, cluster=CLUSTER)


def test_the_fork_of_flink_1_14_compares_whole_names() -> None:
    text = "".join(
        f"{op.name} ({i}/{op.parallelism}); 192.168.1.180\n"
        for op in SQL.operators
        for i in range(1, op.parallelism + 1)
    )
    schedulercfg.parse(text, job=SQL, cluster=CLUSTER, dialect="bu")
    with pytest.raises(InvalidInputError, match=r"no task 'Calc\[9\]'"):
        schedulercfg.parse(text.replace("[8]", "[9]"), job=SQL, cluster=CLUSTER, dialect="bu")


def test_a_key_that_is_one_tasks_name_and_anothers_id() -> None:
    job = JobGraph(
        name="job",
        operators=(
            Operator(id="x", name="map", parallelism=1),
            Operator(id="map", name="filter", parallelism=1),
        ),
    )
    text = schedulercfg.render({"x": ("pi-1",), "map": ("pi-2",)}, job, CLUSTER)
    assert text == "x (1/1); 192.168.1.18\nfilter (1/1); 192.168.1.180\n"
    with pytest.raises(InvalidInputError, match="'map' means 2 tasks"):
        schedulercfg.parse(text.replace("filter", "map"), job=job, cluster=CLUSTER)
