"""A fleet priced by Spark: the same answer, to the last place."""

import pytest

from edgeplace.model import InvalidInputError, MissingExtraError
from edgeplace.solver.fleet import solve_fleet
from tests.support.fleets import fleet


def test_spark_prices_copies_as_threads_do(spark):
    from edgeplace.spark_executor import SparkExecutor

    many = fleet(7, counts=(55_000, 700), tightness=0.45, latency=False)

    here, there = solve_fleet(many), solve_fleet(many, executor=SparkExecutor(spark))

    assert here.prices
    assert there.wan == here.wan
    assert there.bound == here.bound
    assert all((there.places[site] == here.places[site]).all() for site in here.places)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_machines_without_edgeplace_are_told_how_to_get_it():
    errors = pytest.importorskip("pyspark.errors", reason="the spark extra is not installed")
    from edgeplace.spark_executor import SparkExecutor

    class Bare:
        def map(self, function):
            raise errors.PySparkException("ModuleNotFoundError: No module named 'edgeplace'")

        def persist(self, level):
            return self

        def unpersist(self):
            pass

        def parallelize(self, parts, count):
            return self

    class Session:
        sparkContext = Bare()

    with pytest.raises(MissingExtraError, match="have no edgeplace") as e:
        solve_fleet(
            fleet(7, counts=(9, 7), tightness=0.45, latency=False),
            executor=SparkExecutor(Session()),
        )
    assert "--py-files" in e.value.cure


def test_a_session_of_spark_connect_is_refused():
    errors = pytest.importorskip("pyspark.errors", reason="the spark extra is not installed")
    from edgeplace.spark_executor import SparkExecutor

    class Connected:
        @property
        def sparkContext(self):
            raise errors.PySparkNotImplementedError(
                errorClass="NOT_IMPLEMENTED", messageParameters={"feature": "it"}
            )

    with pytest.raises(InvalidInputError, match="Spark Connect has no RDDs"):
        SparkExecutor(Connected())
