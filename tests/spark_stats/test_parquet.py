import pytest

from edgeplace.cli.exit_status import ExitStatus
from edgeplace.model import ClassCost, Costs, InvalidInputError, OperatorCost, SourceDemand, read
from edgeplace.spark_stats.parquet import write_parquet
from tests.support.measured import counted

COSTS = Costs(
    job="j",
    operators=(
        OperatorCost(
            operator="a",
            classes=(
                ClassCost(node_class="pi", true_rate_per_s=10.0),
                ClassCost(node_class="server", true_rate_per_s=40.0),
            ),
            demand=SourceDemand(rates_per_s=(1.0, 2.0)),
        ),
        OperatorCost(operator="b", selectivity=0.5),
    ),
)


def test_parquet_has_a_row_for_each_operator_and_class(spark, tmp_path):
    write_parquet(COSTS, tmp_path / "costs", spark)
    rows = spark.read.parquet(str(tmp_path / "costs")).orderBy("operator", "node_class").collect()
    assert [(r.operator, r.node_class, r.true_rate_per_s) for r in rows] == [
        ("a", "pi", 10.0),
        ("a", "server", 40.0),
        ("b", None, None),
    ]
    assert rows[0].demand_per_s == 3.0
    assert rows[2].selectivity == 0.5


def test_where_nothing_can_be_written_the_costs_are_kept(spark, tmp_path, recording, capfd):
    from edgeplace.cli.main import main

    counted(recording, numRecordsIn=1000, accumulateBusyTimeMs=500)
    out = tmp_path / "costs.json"
    log = recording.write()
    words = ["costs", str(log), "-o", str(out), "--parquet", str(log / "costs")]
    assert main(words) == ExitStatus.INVALID_INPUT
    said = capfd.readouterr()
    assert "Spark cannot make this folder" in said.err
    assert f"costs written to {out}" in said.out
    assert read(out, Costs).operators


def test_parquet_overwrites_nothing(spark, tmp_path):
    with pytest.raises(InvalidInputError, match="exists already"):
        write_parquet(COSTS, tmp_path, spark)
