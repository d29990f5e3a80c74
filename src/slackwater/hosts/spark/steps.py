"""Transcript steps on Spark: each input page is a file, each step a micro-batch."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from slackwater.control import Control
from slackwater.core.elements import Predicate
from slackwater.hosts.spark.host import run
from slackwater.hosts.spark.types import spark_schema_of
from slackwater.plan.stages import Plan


class SparkSteps:
    """A plan running on Spark over a folder of files, its results in a table in memory."""

    def __init__(self, spark: SparkSession, plan: Plan) -> None:
        self._spark, self._plan = spark, plan
        self._folder = Path(tempfile.mkdtemp(prefix="slackwater-steps-"))
        self._input = self._folder / "input"
        self._input.mkdir()
        self._control = Control(self._folder / "control")
        self._pages = self._rows_seen = 0
        self.schema = plan.result_schema
        self.wattr = plan.stages[0].inputs[0].strip("`")
        source = plan.stages[0].source_schema
        frame = spark.readStream.schema(spark_schema_of(source)).parquet(str(self._input))
        self._name = f"steps_{uuid4().hex}"
        writer = run(plan, frame, self._control.directory).writeStream
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoint"))
        self._query = writer.format("memory").queryName(self._name).start()

    def input(self, page: pa.Table) -> pa.Table:
        draft = self._folder / "draft.parquet"
        pq.write_table(page, draft)
        draft.rename(self._input / f"{self._pages:06d}.parquet")
        self._pages += 1
        return self._new_rows()

    def punctuate(self, time: Predicate, groups: dict[str, Predicate]) -> pa.Table:
        self._control.punctuate(self._plan.stream, time, groups)
        return self._new_rows()

    def prod(self, time: Predicate, groups: dict[str, Predicate]) -> pa.Table:
        self._control.prod(self._plan.stream, time, groups)
        return self._new_rows()

    def close(self) -> None:
        self._query.stop()
        self._spark.sql(f"DROP VIEW IF EXISTS {self._name}")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _new_rows(self) -> pa.Table:
        self._query.processAllAvailable()
        table = self._spark.table(self._name).toArrow()
        fresh = table.slice(self._rows_seen)
        self._rows_seen = table.num_rows
        return fresh
