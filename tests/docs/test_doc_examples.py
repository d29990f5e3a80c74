"""The examples run."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from docpages import ROOT
from pyspark.sql import SparkSession

from slackwater.cli.job import load_job
from slackwater.testing import ReplaySteps, check, load

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_transcript_example_holds(path: Path) -> None:
    """An example transcript holds on the replay host."""
    for transcript in load(path):
        check(transcript, ReplaySteps)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_job_example_loads(path: Path) -> None:
    """An example job is a job."""
    assert load_job(path).query


def test_in_process_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The replay example accounts for every tuple that it generated."""
    runpy.run_path(str(EXAMPLES / "in_process.py"), run_name="__main__")
    assert "5000 tuples in, 5000 accounted for" in capsys.readouterr().out


@pytest.mark.spark
def test_steered_example_runs(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """The control example closes one sensor first and the other with the heartbeat."""
    runpy.run_path(str(EXAMPLES / "steered.py"))["main"](spark)
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["after sensor 7 was closed: [(7, 5)]", "after the heartbeat: [(7, 5), (8, 3)]"]
