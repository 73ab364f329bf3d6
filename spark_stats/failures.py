"""Errors of Spark, in clear words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from edgeplace.model.errors import EdgeplaceError, InvalidInputError
from edgeplace.spark_stats.errors import SparkUnavailableError

_A_PYTHON = "--conf spark.pyspark.python=PYTHON (with --remote, spark.sql.execution.pyspark.python)"
_KNOWN: tuple[tuple[str, type[EdgeplaceError], str, str], ...] = (
    (
        r"No FileSystem for scheme \"?(\w+)|Class \S+\.(S3A|\w+)FileSystem not found",
        InvalidInputError,
        "Spark has no file system for these URIs: {}",
        "add the library of the store, for s3a:// --conf "
        "spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION, of Spark's version of Hadoop",
    ),
    (
        r"PYTHON_VERSION_MISMATCH",
        InvalidInputError,
        "a gzip file is damaged or misnamed, and Python unpacks it: {}",
        "give the workers the Python of this machine: --package-python if they have its minor "
        f"version, or {_A_PYTHON}",
    ),
    (
        r"(No module named 'pyarrow'|PyArrow >= \S+ must be installed"
        r"|Cannot run program \"\S*python\S*\")",
        InvalidInputError,
        "a gzip file is damaged or misnamed, and the workers have no Python to unpack it: {}",
        "unpack that file as far as it goes (gzip -dc), or give the workers a Python with pyarrow: "
        f"--package-python if they have one of this minor version, or {_A_PYTHON}",
    ),
    (
        r"(exec: python3\.\d+: not found|No module named 'pyarrow\.\w+'"
        r"|libarrow\S*: cannot open|version .GLIBC_\S+ not found)",
        InvalidInputError,
        "a gzip file is damaged or misnamed, and the packages of this machine do not run on the "
        "workers: {}",
        "unpack that file as far as it goes (gzip -dc), or give them one with pyarrow: "
        f"{_A_PYTHON}",
    ),
    (
        r"StatusCode\.(UNAUTHENTICATED|PERMISSION_DENIED)",
        InvalidInputError,
        "the Spark Connect server does not let us in: {}",
        "give its token: --remote 'sc://HOST:PORT/;token=TOKEN'",
    ),
    (
        r"StatusCode\.(UNAVAILABLE)",
        SparkUnavailableError,
        "the Spark Connect server has gone: {}",
        "see its log, and start it again",
    ),
    (
        r"(ParentNotDirectoryException|Mkdirs failed)",
        InvalidInputError,
        "Spark cannot make this folder: {}",
        "choose another place",
    ),
    (
        r"(No AWS Credentials|NoAuthWithAWS|Unable to load (?:AWS )?credentials|AccessDenied"
        r"|AccessControlException|Permission denied|status code: 40[13]|Forbidden)",
        InvalidInputError,
        "Spark may not read or write there: {}",
        "give Spark the credentials of the store, for s3a:// by AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY or --conf spark.hadoop.fs.s3a.…, for hdfs:// by kinit",
    ),
    (
        r"(CANNOT_MODIFY_\w*CONFIG|Cannot modify the value of)",
        InvalidInputError,
        "this setting belongs to the Spark Connect server: {}",
        "leave it out, or set it where the server starts (conf/spark-defaults.conf)",
    ),
    (
        r"(FetchFailed|ExecutorLostFailure|ExecutorDeadException|Failed to connect to \S+:\d+)",
        SparkUnavailableError,
        "Spark lost machines during the work: {}",
        "see the logs of its executors, which may lack memory, and run it again",
    ),
    (
        r"(UnknownHostException|ConnectException|Connection refused|NoRouteToHost"
        r"|SocketTimeoutException|ConnectTimeoutException)",
        SparkUnavailableError,
        "Spark cannot reach where the log is: {}",
        "check the host of the URI, and that the machines of Spark can reach it",
    ),
)
_CAUSE = re.compile(r"^Caused by: (.*)$", re.MULTILINE)


@contextmanager
def in_clear_words() -> Iterator[None]:
    """Raise what Spark raises in the block as an error that says the cure.

    Raises
    ------
    InvalidInputError
        If Spark lacks what the files need: a library, credentials, a Python.
    SparkUnavailableError
        If it gave up for another reason.
    """
    try:
        yield
    except (PySparkException, Py4JError) as e:
        text = str(e)
        for pattern, kind, what, cure in _KNOWN:
            if found := re.search(f".*(?:{pattern}).*", text):
                raise kind(what.format(found.group(0).strip()[:300]), cure) from e
        # Py4J puts what Java raised behind a line of its own.
        text = text.partition("\n: ")[2] or text
        causes = _CAUSE.findall(text)
        said = (causes[-1] if causes else text.strip().partition("\n")[0])[:300]
        raise SparkUnavailableError(
            f"Spark gave up: {said}",
            "see the logs of its executors; edgeplace --traceback costs … shows all that it said",
        ) from e
