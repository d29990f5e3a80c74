"""What the documentation shows is run, and does what it says."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from docpages import PAGES, ROOT, Block, blocks, blocks_in, run_page
from pyspark.sql import SparkSession

import slackwater as sw
from slackwater.cli.job import load_job
from slackwater.cli.main import parser
from slackwater.cli.run import results_of
from slackwater.hosts.spark import register_sources
from slackwater.testing import ReplaySteps, check, load


def each(found: list[Block]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", found, ids=lambda block: block.id)


def pages(on_spark: bool) -> pytest.MarkDecorator:
    chosen = [page for page in PAGES if not on_spark or any(b.on_spark for b in blocks(page))]
    return pytest.mark.parametrize("page", chosen, ids=lambda page: str(page.relative_to(ROOT)))


@pages(on_spark=False)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's code runs in order and prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    for block, printed in run_page(page, tmp_path, {}):
        assert block.output in (None, printed), block.id


@pytest.mark.spark
@pages(on_spark=True)
def test_page_runs_on_spark(page: Path, tmp_path: Path, spark: SparkSession) -> None:
    """With a session at hand, all of a page's code runs and prints what the page shows."""
    register_sources(spark)
    try:
        for block, printed in run_page(page, tmp_path, {"spark": spark}):
            assert block.language == "sh" or block.output in (None, printed), block.id
    finally:
        for query in spark.streams.active:
            query.stop()


@each([block for block in blocks_in("yaml") if block.mark("file") != "wrong.yaml"])
def test_transcript_holds(block: Block, tmp_path: Path) -> None:
    """A transcript in the documentation holds on the replay host."""
    file = tmp_path / "shown.yaml"
    file.write_text(block.text)
    for transcript in load(file):
        check(transcript, ReplaySteps)


@each([block for block in blocks_in("sql") if block.output is None])
def test_query_compiles(block: Block) -> None:
    """A query in the documentation is accepted over the streams named beside it."""
    assert block.streams, "say the streams of this query in a comment before it"
    for query in block.text.split("\n\n"):
        assert sw.explain(query, block.streams, external_heartbeats=block.external)


@each(blocks_in("toml"))
def test_job_loads(block: Block, tmp_path: Path) -> None:
    """A job file in the documentation is a job."""
    file = tmp_path / "job.toml"
    file.write_text(block.text)
    assert load_job(file).streams


@pytest.mark.spark
@each(blocks_in("toml"))
def test_job_starts(block: Block, tmp_path: Path, spark: SparkSession) -> None:
    """A job file in the documentation has streams that Spark can open and a query that it plans."""
    register_sources(spark)
    file = tmp_path / "job.toml"
    file.write_text(block.text.replace('"/data/', f'"{tmp_path}/'))
    (tmp_path / "speeds" / "in").mkdir(parents=True)
    assert results_of(load_job(file), spark).isStreaming


@each(blocks_in("sh"))
def test_command_is_known(block: Block) -> None:
    """A command in the documentation is one that the command line or the Makefile knows."""
    targets = [line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines()]
    for line in block.text.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or ["make", "help"]
        if program == "slackwater":
            assert parser().parse_args(arguments)
        elif program == "make":
            assert arguments[0] in targets, f"no make target {arguments[0]}"
        else:
            assert program in ("git", "pip", "cd", "ruff", "pytest", "python")
