import pytest
import yaml

local_cluster = pytest.importorskip(
    "testbed.local_cluster", reason="the testbed is not in the wheel, and not beside these tests"
)


def test_flink_reads_the_options_that_were_given() -> None:
    options = {
        "taskmanager.numberOfTaskSlots": "4",
        "env.java.opts.all": '--add-opens=java.base/java.lang=ALL-UNNAMED -Dq="a: b" # no',
        "io.tmp.dirs": "/tmp/naïve folder\\",
        "empty": "",
    }

    text = local_cluster.config_yaml(options)

    assert yaml.safe_load(text) == options
    assert text.splitlines() == sorted(text.splitlines())
