import pytest

from edgeplace.model import InvalidInputError
from edgeplace.spark_stats import SparkUnavailableError

pytest.importorskip("pyspark", reason="the spark extra is not installed")


@pytest.mark.parametrize(
    ("said", "kind", "cure"),
    [
        ('No FileSystem for scheme "s3a"', InvalidInputError, "hadoop-aws"),
        ("Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", InvalidInputError, "hadoop-aws"),
        ("x.NoAuthWithAWSException: No AWS Credentials provided", InvalidInputError, "AWS_ACCESS"),
        ("org.x.AccessControlException: Permission denied: user=me", InvalidInputError, "kinit"),
        ("java.net.UnknownHostException: namenode", SparkUnavailableError, "host of the URI"),
        ("Call to nn:8020 failed: Connection refused", SparkUnavailableError, "host of the URI"),
        ("Read timed out: FetchFailed(BlockManagerId(0, h, 1))", SparkUnavailableError, "memory"),
        ("StatusCode.UNAUTHENTICATED: Invalid token", InvalidInputError, ";token="),
        ("No module named 'pyarrow'", InvalidInputError, "--package-python"),
        ("[CANNOT_MODIFY_CONFIG] spark.executor.memory", InvalidInputError, "server starts"),
        ("[PYTHON_VERSION_MISMATCH] 3.10 and 3.11", InvalidInputError, "--package-python"),
        (
            'Cannot run program "./a/bin/python": error=13, Permission denied',
            InvalidInputError,
            "gz",
        ),
        ("./a/bin/python: 3: exec: python3.11: not found", InvalidInputError, "one with pyarrow"),
        ("No module named 'pyarrow.lib'", InvalidInputError, "one with pyarrow"),
        ("libarrow.so.2600: cannot open shared object file", InvalidInputError, "one with pyarrow"),
        ("An error occurred\n: x.Bad: it\n\tat y", SparkUnavailableError, "executors"),
        ("x\nCaused by: java.lang.OutOfMemoryError: heap", SparkUnavailableError, "executors"),
    ],
)
def test_what_spark_raises_is_said_with_a_cure(said, kind, cure):
    from pyspark.errors import PySparkException

    from edgeplace.spark_stats.failures import in_clear_words

    with pytest.raises(kind) as e, in_clear_words():
        raise PySparkException(said)
    said = said.removesuffix("\n\tat y").splitlines()[-1].removeprefix(": ")
    assert said.removeprefix("Caused by: ") in e.value.what
    assert cure in e.value.cure
