"""`edgeplace fleet`: tables in, tables out, and what is wrong with them."""

import csv
import json
import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from edgeplace.case import fleet_files
from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import Costs, write
from edgeplace.solver.fleet import Replicas, solve_fleet
from tests.support.fleets import fleet, one_shop

needs_parquet = pytest.mark.skipif(
    not (find_spec("pyarrow") and find_spec("pandas")), reason="pandas or pyarrow is not installed"
)
ROWS = "id,site,rates,cores:pi\nberlin,shop,1,4\n'a, b',shop,2,4\nc,shop,0.5,2\n".replace("'", '"')


@pytest.fixture
def template(tmp_path):
    """A shop with a Pi and a server whose cores are scarce: files and options."""
    shop = one_shop(3, 0.4, free=True)
    write(shop.jobs[0], tmp_path / "job.json")
    write(shop.cluster, tmp_path / "cluster.yaml")
    write(shop.rules, tmp_path / "rules.yaml")
    return tmp_path / "job.json", tmp_path / "cluster.yaml", "--rules", tmp_path / "rules.yaml"


@pytest.fixture
def place(edgeplace, template, tmp_path):
    """Run the command on a table."""

    def run(table, *more):
        (tmp_path / "sites.csv").write_text(table)
        return edgeplace("fleet", *template, "--sites", tmp_path / "sites.csv", *more)

    return run


def known():
    """Return the library's answer to ROWS."""
    shop = one_shop(3, 0.4, free=True)
    rates, cores = {"job": np.array([1, 2, 0.5])}, {"pi": np.array([4.0, 4, 2])}
    return solve_fleet(replace(shop, replicas={"shop": Replicas(3, rates=rates, cores=cores)}))


def check_plans(rows, result, ids):
    """Check the rows of a table of plans against the library's."""
    at = {(r["site"], r["id"], r["job"], r["operator"], int(r["subtask"])): r for r in rows}
    assert len(at) == len(rows) == sum(p.size for p in result.places.values())
    for site, names in ids.items():
        for i, name in enumerate(names):
            for job, op, k, tm in result.plan(site, i).subtasks():
                assert at[site, name, job, op, k]["task_manager"] == tm


def test_plans_of_all_replicas_are_written(place, tmp_path):
    ran = place(ROWS, "-o", tmp_path / "plans.csv")
    assert ran.status is ExitStatus.OK, ran.err
    with (tmp_path / "plans.csv").open() as f:
        check_plans(list(csv.DictReader(f)), known(), {"shop": ("berlin", "a, b", "c")})
    assert f"plans written to {tmp_path / 'plans.csv'}" in ran.out
    assert ran.err == ""


def test_the_summary_counts_and_proves(place):
    ran = place(ROWS)
    result = known()
    home = int((result.places["shop"] == 1).sum())
    row = ran.out.splitlines()[1].split()
    assert row == ["shop", "3", "9", str(home), f"({100 * home / 9:.1f}", "%)", str(9 - home)]
    assert "node cpu server" in ran.out.partition("what one more unit")[2]
    assert (round(result.wan), round(result.bound)) == (40_000, 40_000)
    assert re.split(r"  +", ran.out.splitlines()[-1])[:3] == ["wan", "40 kB/s", "40 kB/s"]


def test_json_is_the_summary(place):
    found = json.loads(place(ROWS, "--json").out)
    assert found["status"] == "optimal"
    assert found["wan"] == pytest.approx(known().wan)
    assert found["sites"]["shop"]["replicas"] == 3
    assert found["prices"] == pytest.approx(dict(known().prices))


def test_several_kinds_of_sites_and_jobs(edgeplace, tmp_path):
    small = fleet(1, counts=(3, 2), latency=False)
    paths = [tmp_path / f"{job.name}.json" for job in small.jobs]
    for job, path in zip(small.jobs, paths, strict=True):
        write(job, path)
    write(small.cluster, tmp_path / "cluster.yaml")
    write(small.rules, tmp_path / "rules.yaml")
    names = sorted({n.partition("[")[0] for c in small.replicas.values() for n, _ in c.columns()})
    assert set(names) <= {"rates", "cores", "slots", *fleet_files._PLAIN}
    rows, ids = [], {}
    for site, replicas in small.replicas.items():
        for i in range(replicas.count):
            ids.setdefault(site, []).append(f"{site}/{i}")
            row = {"id": f"{site}/{i}", "site": site}
            for kind in ("rates", "cores", "slots"):
                row |= {f"{kind}:{k}": v[i] for k, v in getattr(replicas, kind).items()}
            for name in fleet_files._PLAIN:
                if getattr(replicas, name) is not None:
                    row[name] = getattr(replicas, name)[i]
            rows.append(row)
    with (tmp_path / "sites.csv").open("w", newline="") as f:
        writer = csv.DictWriter(f, list(dict.fromkeys(k for r in rows for k in r)), restval="")
        writer.writeheader()
        writer.writerows(rows)
    more = ("--rules", tmp_path / "rules.yaml", "-o", tmp_path / "plans.csv", "--json")
    ran = edgeplace(
        "fleet", *paths, tmp_path / "cluster.yaml", "--sites", tmp_path / "sites.csv", *more
    )
    result = solve_fleet(small)
    assert json.loads(ran.out)["wan"] == pytest.approx(result.wan)
    with (tmp_path / "plans.csv").open() as f:
        check_plans(list(csv.DictReader(f)), result, ids)


@needs_parquet
def test_parquet_in_and_out(edgeplace, template, tmp_path):
    import pandas

    columns = {"id": [7, 8, 9], "site": "shop", "rates": [1, 2, 0.5], "cores:pi": [4, 4, 2]}
    pandas.DataFrame(columns).to_parquet(tmp_path / "sites.parquet")
    out = tmp_path / "plans.parquet"
    ran = edgeplace("fleet", *template, "--sites", tmp_path / "sites.parquet", "-o", out)
    assert ran.status is ExitStatus.OK, ran.err
    rows = pandas.read_parquet(out).to_dict("records")
    check_plans(rows, known(), {"shop": ("7", "8", "9")})
    assert not list(tmp_path.glob(".plans*"))


@needs_parquet
def test_a_parquet_file_that_is_none_is_refused(edgeplace, template, tmp_path):
    (tmp_path / "sites.parquet").write_text(ROWS)
    ran = edgeplace("fleet", *template, "--sites", tmp_path / "sites.parquet")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert "not a Parquet table" in ran.err


@pytest.mark.parametrize("asked", ["--sites", "-o"])
def test_parquet_without_its_library_says_what_to_install(place, asked, tmp_path, monkeypatch):
    def absent(name):
        raise ImportError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(fleet_files, "import_module", absent)
    ran = place(ROWS, asked, tmp_path / "table.parquet")
    assert ran.status is ExitStatus.MISSING_EXTRA
    assert "pyarrow is not installed" in ran.err
    assert "pip install 'edgeplace[spark]'" in ran.err


def test_no_plan_says_why(place):
    ran = place("id,site,rates\na,shop,1\nb,shop,100000000\n")
    assert ran.status is ExitStatus.INFEASIBLE
    assert ran.out.startswith("no plan exists\n")


@pytest.mark.parametrize(
    ("table", "said", "cure"),
    [
        ("", "the file is empty", "header"),
        ("id,site\n", "the table has no rows", "each replica"),
        ("site\nshop\n", "there is no column 'id'", "name each replica"),
        ("id\na\n", "there is no column 'site'", "name each replica"),
        ("id,site,id\na,shop,b\n", "there are two columns 'id'", "keep one"),
        ("id,site,rate\na,shop,1\n", "column 'rate' is not known", "did you mean 'rates'"),
        ("id,site,cores:\na,shop,1\n", "column 'cores:' is not known", "cores:NODE"),
        ("id,site,cores:pea\na,shop,1\n", "name node 'pea'", "there is ['pi']"),
        ("id,site,rates:other\na,shop,1\n", "name job 'other'", "there is ['job']"),
        ("id,site,rates,rates:job\na,shop,1,1\n", "'rates' and one of a single", "keep 'rates'"),
        ("id,site\na,stop\n", "'a' is of site 'stop'", "the sites are cloud, shop"),
        ("id,site\na,cloud\n", "'cloud'", "cure"),
        ("id,site\na,shop\n\nb,shop\na,shop\n", ":4: id 'a' is that of row 2", "own id"),
        ("id,site\n,shop\n", ":2: the row has no id", "name the replica"),
        ("id,site\na,\n", ":2: the row has no site", "name the replica"),
        ("id,site\na\n", ":2: the row has 1 cells", "each column"),
        ("id,site,rates\na,shop,nan\n", ":2: rates is 'nan'", "give a number"),
        ("id,site,rates\na,shop,inf\n", ":2: rates is 'inf'", "give a number"),
        ("id,site,rates\na,shop,many\n", ":2: rates is 'many'", "give a number"),
        ("id,site,slots:pi\na,shop,1.5\n", ":2: slots:pi is '1.5'", "whole number"),
        ("id,site,rates\na,shop,1\nb,shop,\n", "rates of replica 'b' is empty", "each replica"),
        ("id,site,rates\na,shop,1\nb,shop,0\n", "rates['job'] is 0.0 at replica 1", "above 0"),
        ("id,site,delay_ms\na,shop,-1\n", "delay_ms is -1.0 at replica 0", "0 or more"),
        ('id,site\n"a,shop\n', "not valid CSV", "mend the file"),
    ],
)
def test_a_wrong_table_is_refused_with_its_cure(place, table, said, cure):
    ran = place(table)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err
    assert cure in ran.err
    assert ran.out == ""


def test_rates_of_several_kinds_of_sites_need_their_job(edgeplace, tmp_path):
    small = fleet(1, counts=(1, 1))
    paths = [tmp_path / f"{job.name}.json" for job in small.jobs]
    for job, path in zip(small.jobs, paths, strict=True):
        write(job, path)
    write(small.cluster, tmp_path / "cluster.yaml")
    rows = "".join(f"{site},{site},1\n" for site in small.replicas)
    (tmp_path / "sites.csv").write_text("id,site,rates\n" + rows)
    ran = edgeplace("fleet", *paths, tmp_path / "cluster.yaml", "--sites", tmp_path / "sites.csv")
    assert ran.status is ExitStatus.INVALID_INPUT
    assert f"rates:{small.jobs[0].name}" in ran.err


def test_a_wrong_template_is_refused(edgeplace, template, tmp_path):
    (tmp_path / "sites.csv").write_text("id,site\na,shop\n")
    job, cluster, *rules = template
    swapped = edgeplace("fleet", cluster, job, *rules, "--sites", tmp_path / "sites.csv")
    assert swapped.status is ExitStatus.INVALID_INPUT
    assert "are two files swapped?" in swapped.err
    twice = edgeplace("fleet", job, job, cluster, *rules, "--sites", tmp_path / "sites.csv")
    assert twice.status is ExitStatus.INVALID_INPUT
    assert "2 job files hold 1 jobs" in twice.err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("-o", "plans.txt"), "a name that ends in .csv or .parquet"),
        (("-o", "/no/such/folder/plans.csv"), "cannot be written"),
        (("--gap", "-1"), "not a gap from 0 to 1"),
        (("--workers", "0"), "use 1 worker or more"),
        (("--sites", "none.csv"), "none.csv: no such file"),
    ],
)
def test_a_wrong_option_is_refused(place, more, said):
    ran = place(ROWS, *more)
    assert ran.status is ExitStatus.INVALID_INPUT
    assert said in ran.err


def test_costs_are_those_of_the_job_of_that_name(edgeplace, place, template, tmp_path):
    shop = one_shop(3, 0.4, free=True)
    costs = Costs.model_validate(
        {"job": "job", "operators": [{"operator": "map", "classes": [], "selectivity": 0.5}]}
    )
    write(costs, tmp_path / "costs.json")
    job = shop.jobs[0].with_costs(costs)
    (tmp_path / "job.json").unlink()
    write(shop.jobs[0], tmp_path / "job.json")
    ran = place("id,site\na,shop\nb,shop\nc,shop\n", "--costs", tmp_path / "costs.json", "--json")
    measured = solve_fleet(replace(shop, jobs=[job])).wan
    assert measured != pytest.approx(solve_fleet(shop).wan)
    assert json.loads(ran.out)["wan"] == pytest.approx(measured)
    write(job.revised(name="second"), tmp_path / "second.json")
    write(costs.model_copy(update={"job": "third"}), tmp_path / "costs.json")
    more = ("--sites", tmp_path / "sites.csv", "--costs", tmp_path / "costs.json")
    strange = edgeplace("fleet", tmp_path / "second.json", *template, *more)
    assert strange.status is ExitStatus.INVALID_INPUT
    assert "these are costs of job 'third'" in strange.err


def test_a_bar_is_shown_on_a_terminal_only(on_terminal, place, template, tmp_path):
    assert place(ROWS).err == ""
    ran = on_terminal("fleet", *template, "--sites", tmp_path / "sites.csv")
    assert "the evaluator confirms" in ran.err
