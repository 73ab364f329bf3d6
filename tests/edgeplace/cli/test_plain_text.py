"""Output for files and pipes is plain; output for terminals fits them."""

import re
from io import StringIO

import pytest
from rich.cells import cell_len

from edgeplace.cli.console import Console
from edgeplace.model import write
from edgeplace.solver import evaluate, solve
from edgeplace.views.tables import show_policies
from edgeplace.views.terms import Terms

BOX = re.compile("[\u2500-\u257f]")


def renamed(model, name):
    """Return the job with every operator renamed."""
    return model.revised(
        operators=tuple(o.model_copy(update={"name": name(o.name)}) for o in model.operators)
    )


class Terminal(StringIO):
    """A file that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("more", [(), ("--objective", "throughput,wan")])
def test_output_to_a_file_has_no_escape_codes_and_no_boxes(edgeplace, job, cluster, narrow, more):
    for where in (cluster, narrow):
        ran = edgeplace("solve", job, where, *more)
        assert "\x1b" not in ran.out + ran.err
        assert not BOX.search(ran.out)
        assert ran.err == ""


@pytest.mark.parametrize(("err", "shown"), [(StringIO, False), (Terminal, True)])
@pytest.mark.parametrize("colour", [False, True])
def test_progress_is_for_terminals_alone(monkeypatch, err, shown, colour):
    if colour:
        monkeypatch.setenv("FORCE_COLOR", "1")
    out, said = StringIO(), err()
    with Console(out, said).progress("searching") as tell:
        tell("looking", 0.5)
    assert out.getvalue() == ""
    assert bool(said.getvalue()) == shown


def test_a_terminal_gets_colours_boxes_and_its_own_width(on_terminal, job, cluster):
    ran = on_terminal("solve", job, cluster, columns=60)
    assert "\x1b[" in ran.out
    assert BOX.search(ran.out)
    table = re.sub(r"\x1b\[[0-9;]*m", "", ran.out).partition("compared")[0]
    assert max(map(len, table.splitlines())) <= 60


@pytest.fixture
def compared(filter_model):
    """Print the comparison of some placements on a terminal of a width; return its rows."""

    def show(placements, width):
        judged = evaluate(*filter_model, solve(*filter_model).plan)
        out = Terminal()
        console = Console(out, StringIO())
        console.out.width = width
        show_policies(console, [(f"placement-{i}", judged) for i in range(placements)], Terms())
        return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()

    return show


@pytest.mark.parametrize("placements", [2, 15])
def test_on_a_narrow_terminal_no_word_of_the_comparison_is_broken(compared, placements):
    """A few placements have a column each; many are told without the links."""
    rows = compared(placements, 90)
    assert max(map(len, rows)) <= 90
    words = " ".join(rows).split()
    assert {"placement", "headroom", "placement-0", "placement-1", "cores"} <= set(words)
    links = [row for row in rows if row.startswith("pi-0 -> cloud  ")]
    assert len(links) == (1 if placements == 2 else 0)


def test_on_a_wide_terminal_each_placement_has_a_row(compared):
    first = [row.split()[0] for row in compared(2, 300) if "kB/s" in row]
    assert first == ["placement-0", "placement-1"]


def test_long_names_are_not_wrapped(edgeplace, filter_model, cluster, tmp_path):
    model, _ = filter_model
    write(renamed(model, lambda n: f"{n} " + "long name " * 50 + "end"), tmp_path / "long.json")
    ran = edgeplace("solve", tmp_path / "long.json", cluster, "--full")
    rows = ran.out.partition("\n\n")[0].splitlines()
    assert len(rows) == 1 + len(model.operators)
    for op, row in zip(model.operators, rows[1:], strict=True):
        assert row.startswith(f"{op.name} " + "long name " * 50 + "end  ")
        assert "(1)" in row


def test_the_last_column_is_not_padded_in_a_file():
    rows = [("a", "short"), ("b", "long " * 50 + "end")]
    out = StringIO()
    Console(out, StringIO()).table(("name", "because"), rows)
    assert out.getvalue() == f"name  because\na     short\nb     {'long ' * 50}end\n"


def test_a_conflict_with_long_names_is_not_wrapped(edgeplace, filter_model, narrow, tmp_path):
    model, _ = filter_model
    write(renamed(model, lambda n: f"{n}-" + "x" * 300), tmp_path / "long.json")
    ran = edgeplace("solve", tmp_path / "long.json", narrow)
    assert "  source source-" + "x" * 300 + " is born at pi-0\n" in ran.out


def test_columns_line_up(edgeplace, job, cluster):
    table = edgeplace("solve", job, cluster, "--full").out.partition("\n\n")[0].splitlines()
    assert table[0].split() == ["operator", "subtasks", "TaskManager", "(subtask)"]
    where = table[0].index("TaskManager")
    assert [row[where:].rstrip() for row in table[1:]] == [
        "pi-0 (1), pi-1 (2), pi-2 (3), pi-3 (4)",
        "pi-0 (1), pi-1 (2), pi-2 (3), pi-3 (4)",
        "server (1)",
    ]


def test_subtasks_that_follow_one_another_are_a_range(edgeplace, filter_model, cluster, tmp_path):
    model, _ = filter_model
    first, *rest = model.operators
    write(
        model.revised(operators=(first.model_copy(update={"born_at": ("pi-0",)}), *rest)),
        tmp_path / "job.json",
    )
    ran = edgeplace("solve", tmp_path / "job.json", cluster, "--full", "--set", "rate:source=100")
    assert "pi-0 (1-4)" in ran.out


def test_markup_in_tables_is_text(capsys):
    console = Console()
    console.table(("[bold]a", ">b"), [("[red]x[/red]", ":smile:")], ["green"])
    console.text("[/]")
    console.problem("[link=x]")
    assert capsys.readouterr() == (
        "[bold]a             b\n[red]x[/red]  :smile:\n[/]\n",
        "[link=x]\n",
    )


def test_letters_that_are_two_wide_do_not_make_a_line_wider_than_the_terminal(terminal):
    words = [f"東京工場 소울물류센터-{i}" for i in range(20)]
    console = Console(terminal, terminal)
    console.text("  " + ", ".join(words))
    console.problem(", ".join(words))
    lines = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue()).splitlines()
    assert all(40 < cell_len(line) <= 80 for line in (lines[0], lines[-2]))
    assert all(cell_len(line) <= 80 for line in lines)
    indented = [line for line in lines if line.startswith("  ")]
    assert indented == lines[: len(indented)]
    # No word is broken, and none is lost.
    assert " ".join(indented).split() == ", ".join(words).split()
    assert " ".join(lines[len(indented) :]) == ", ".join(words)
