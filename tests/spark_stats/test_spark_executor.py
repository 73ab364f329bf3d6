"""A fleet priced by Spark: the same answer, to the last place."""

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
