"""The canonical log: one JSON line for each answer of Flink's REST interface.

    {"edgeplace_log": 1, "ts_ms": 1795225917566, "path": "/jobs/<job>/...", "answer": <raw answer>}

Answers of unknown paths are counted and ignored.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from edgeplace.spark_stats import long_table as r
from edgeplace.spark_stats.formats import canonical_log as of_format
from edgeplace.spark_stats.long_rows import STRICT_JSON, excerpt, long_rows, number

_HEADER = "edgeplace_log INT, ts_ms BIGINT, path STRING"
_ITEM = "STRUCT<id: STRING, value: STRING, attempt: STRING>"
_LINE = f"{_HEADER}, answer ARRAY<{_ITEM}>, odd STRING"
# With an option given, Spark does not split the parse into one parse per field.
_ONE_PARSE = {
    "mode": "PERMISSIVE",
    **STRICT_JSON,
    # Has the line if it does not have the types of the schema, or is no JSON.
    "columnNameOfCorruptRecord": "odd",
}

_VERTEX = (
    f"{_HEADER}, answer STRUCT<subtasks: ARRAY<STRUCT<subtask: STRING, attempt: STRING,"
    " `taskmanager-id`: STRING, endpoint: STRING, host: STRING>>>, odd STRING"
)
_CHECKPOINT = (
    "answer STRUCT<status: STRING, state_size: STRING, checkpointed_size: STRING,"
    f" {r.ACKNOWLEDGED}: STRING>"
)
_INPUTS = "inputs: ARRAY<STRUCT<id: STRING, ship_strategy: STRING>>"
# The needed fields of a job's answer; the others change with every poll.
_JOB = (
    "answer STRUCT<name: STRING, vertices: ARRAY<STRUCT<id: STRING, name: STRING,"
    " parallelism: INT, maxParallelism: INT>>,"
    f" plan: STRUCT<nodes: ARRAY<STRUCT<id: STRING, {_INPUTS}>>>>"
)
_PLAN = (
    "answer STRUCT<plan: STRUCT<name: STRING, nodes: ARRAY<STRUCT<id: STRING, parallelism: INT,"
    f" description: STRING, {_INPUTS}>>>>"
)
_SETTINGS = "answer ARRAY<STRUCT<key: STRING, value: STRING>>"
_CONFIG = "answer MAP<STRING, STRING>"


def read(lines: DataFrame) -> DataFrame:
    """Return the long table; lines of metrics and of vertices are parsed once, others twice."""
    # These two kinds are almost all of a log, so their schema is given to the parser.
    of_vertex = F.substring("value", 1, 400).rlike(rf'"path"\s*:\s*"{of_format.KINDS["vertex"]}"')
    parsed = (
        lines.filter(F.trim("value") != "")
        .select(
            "value",
            "file",
            "block",
            "pos",
            F.when(of_vertex, F.from_json("value", _VERTEX, _ONE_PARSE)).alias("vertex_line"),
            F.when(~of_vertex, F.from_json("value", _LINE, _ONE_PARSE)).alias("other_line"),
        )
        .select(
            "*",
            F.struct(
                *(
                    F.coalesce(F.col(f"vertex_line.{c}"), F.col(f"other_line.{c}")).alias(c)
                    for c in ("edgeplace_log", "ts_ms", "path", "odd")
                )
            ).alias("line"),
        )
    )
    path = F.substring_index("line.path", "?", 1)
    shape = F.lit("other")
    for kind, pattern in reversed(of_format.KINDS.items()):
        shape = F.when(path.rlike(f"^(?:{pattern})$"), kind).otherwise(shape)
    headed = parsed.select(
        "*",
        path.alias("path"),
        F.when(_complaint().isNotNull(), "bad").otherwise(shape).alias("shape"),
        _complaint().alias("complaint"),
        F.split(path, "/").alias("parts"),
    )
    itemised = headed.select(
        "*",
        F.when((F.col("shape") == "bad") | (F.col("shape") == "other"), None)
        .when(F.col("shape").isin("metrics", "taskmanager"), F.col("other_line.answer"))
        .when(F.col("shape") == "vertex", _task_managers())
        .when(F.col("shape") == "checkpoint", _checkpoint_sizes())
        .otherwise(_text())
        .alias("items"),
    ).select(
        "*",
        # An answer without its required content is a bad line, too.
        F.when(F.col("items").isNull() & ~F.col("shape").isin("bad", "other"), "bad")
        .otherwise(F.col("shape"))
        .alias("verdict"),
    )
    return _items_flat(_lines_flat(itemised).withColumn("item", F.explode_outer("items")))


def _complaint() -> Column:
    line = F.col("line")
    nothing = line["edgeplace_log"].isNull() & line["ts_ms"].isNull() & line["path"].isNull()
    # Spark may read some fields of damaged JSON, depending on the place of the damage.
    damaged = line["odd"].isNotNull() & F.json_object_keys("value").isNull()
    return (
        F.when(
            nothing | damaged,
            of_format.NOT_JSON,
        )
        .when(line["edgeplace_log"].isNull(), "no edgeplace_log in it")
        .when(line["edgeplace_log"] != 1, "edgeplace_log of an unknown version")
        .when(line["ts_ms"].isNull(), "no ts_ms in it")
        .when(line["path"].isNull(), "no path in it")
    )


def _task_managers() -> Column:
    """Return an item subtask -> TaskManager for each subtask of a vertex."""
    tasks = F.coalesce(
        F.col("vertex_line.answer"), F.from_json("value", _VERTEX, _ONE_PARSE)["answer"]
    )["subtasks"]
    # Older versions of Flink give the host only.
    names = [tasks[c] for c in ("taskmanager-id", "endpoint", "host")]
    name = F.coalesce(*(F.when(F.get(n, F.lit(0)).isNotNull(), n) for n in names), names[0])
    return F.arrays_zip(tasks["subtask"], name, tasks["attempt"]).cast(f"array<{_ITEM}>")


def _checkpoint_sizes() -> Column:
    """Return the sizes and the time of a vertex in a checkpoint, an empty array if it is not
    complete.
    """
    answer = F.from_json("value", _CHECKPOINT, _ONE_PARSE)["answer"]
    none = F.array().cast(f"array<{_ITEM}>")
    sizes = F.array(*(_item(F.lit(size), answer[size]) for size in of_format.CHECKPOINT_SIZES))
    at_ms = F.when(
        answer[r.ACKNOWLEDGED].isNotNull(),
        F.array(_item(F.lit(r.ACKNOWLEDGED), answer[r.ACKNOWLEDGED])),
    ).otherwise(none)
    return F.when(answer["status"] == "COMPLETED", F.concat(sizes, at_ms)).when(
        answer["status"].isNotNull(), none
    )


def _text() -> Column:
    """Return the answer as text, without the fields that change with every poll; null if it is not
    what its path promises.
    """
    job, plan, settings, config = (
        F.from_json("value", schema, _ONE_PARSE)["answer"]
        for schema in (_JOB, _PLAN, _SETTINGS, _CONFIG)
    )
    whole = F.get_json_object("value", "$.answer")
    told = F.forall(
        job["vertices"],
        lambda v: v["id"].isNotNull() & v["name"].isNotNull() & v["parallelism"].isNotNull(),
    ) & (job["plan"].isNull() | _have_ids(job["plan"]))
    shape = F.col("shape")
    text = (
        F.when(shape == "job", F.when(told, F.to_json(job)))
        .when(shape == "plan", F.when(_have_ids(plan["plan"]), F.to_json(plan)))
        .when(shape == "settings", F.when(settings.isNotNull(), whole))
        .otherwise(F.when(config.isNotNull(), whole))
    )
    return F.when(text.isNotNull(), F.array(_item(F.lit(""), text)))


def _have_ids(plan: Column) -> Column:
    """Return whether all nodes of a plan, and all their inputs, are told."""
    every = F.forall(
        plan["nodes"],
        lambda node: (
            node["id"].isNotNull()
            & (node["inputs"].isNull() | F.forall(node["inputs"], lambda i: i["id"].isNotNull()))
        ),
    )
    return F.coalesce(every, F.lit(False))


def _item(item_id: Column, value: Column) -> Column:
    return F.struct(
        item_id.alias("id"), value.alias("value"), F.lit(None).cast("string").alias("attempt")
    )


def _lines_flat(rows: DataFrame) -> DataFrame:
    """Return the columns that all items of a line share, computed once for each line."""
    verdict = F.col("verdict")
    bad, document = verdict == "bad", verdict.isin(*of_format.DOCUMENTS)
    about_tasks = verdict.isin("metrics", "vertex")
    return rows.select(
        "file",
        "block",
        "pos",
        "items",
        "verdict",
        F.when(about_tasks, r.TASK)
        .when(verdict == "taskmanager", r.TASK_MANAGER)
        .when(verdict == "checkpoint", r.CHECKPOINT)
        .when(document, r.DOCUMENT)
        .when(bad, r.BAD)
        .otherwise(r.OTHER)
        .alias("kind"),
        F.when(~bad & (F.get("parts", F.lit(1)) == "jobs"), F.get("parts", F.lit(2))).alias("job"),
        F.when(bad, F.col("file"))
        .when(document, F.col("path"))
        .when(verdict == "taskmanager", F.get("parts", F.lit(2)))
        .when(verdict == "checkpoint", F.get("parts", F.lit(7)))
        .when(about_tasks, F.get("parts", F.lit(4)))
        .alias("vertex"),
        F.when(bad, F.coalesce("complaint", F.lit(of_format.NO_CONTENT))).alias("name"),
        # Many polls report the same checkpoint.
        F.when(verdict == "checkpoint", F.get("parts", F.lit(5)).try_cast("bigint"))
        .when(~bad, F.col("line.ts_ms"))
        .alias("ts_ms"),
        F.when(bad, excerpt(F.col("value"))).alias("excerpt"),
    )


def _items_flat(rows: DataFrame) -> DataFrame:
    verdict, item_id, value = F.col("verdict"), F.col("item.id"), F.col("item.value")
    vertex, document = verdict == "vertex", verdict.isin(*of_format.DOCUMENTS)
    before_dot = F.substring_index(item_id, ".", 1)
    after_dot = F.expr("substring(item.id, locate('.', item.id) + 1)")
    of_source = after_dot.startswith("Source_") & after_dot.endswith(".numRecordsOut")
    return long_rows(
        rows,
        format=of_format.name,
        **{c: F.col(c) for c in ("kind", "job", "vertex", "name", "ts_ms", "excerpt")},
        subtask=F.when((verdict == "metrics") | vertex, before_dot.try_cast("bigint")),
        attempt=F.col("item.attempt").try_cast("int"),
        task_manager=F.when(vertex & (value != "(unassigned)"), value),
        metric=F.when(verdict == "metrics", F.when(of_source, r.EMITTED).otherwise(after_dot)).when(
            verdict.isin("taskmanager", "checkpoint"), item_id
        ),
        value=F.when(verdict.isin("metrics", "taskmanager", "checkpoint"), number(value)),
        document=F.when(document, value),
    )
