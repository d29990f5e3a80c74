"""The other commands: explain, check and run, from files as a user has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.cli.main import main

JOB = """
query = "SELECT k, COUNT(*) AS n FROM S [RANGE 10 s, SLIDE 5 s, WATTR ts, {wait}] GROUP BY k"
[streams.S]
format = "rate"
select = ["timestamp AS ts", "value % 3 AS k"]
"""
GOOD = """
query: SELECT COUNT(*) AS n FROM S [RANGE 10, SLIDE 5, WATTR t]
streams: {S: "t bigint, k string, v double"}
heartbeats: external
steps:
  - input: {S: [[1, a, 2.0], [7, b, 1.0]]}
  - heartbeat: {S: 10}
  - expect: [{kind: final, window: [-5, 5], n: 1}, {kind: final, window: [0, 10], n: 2}]
  - expect: []
"""


def test_explain_says_which_estimator_runs_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    """The default is called so, another one is said to be asked for."""
    query = "SELECT COUNT(*) AS n FROM S [RANGE 10 s, SLIDE 5 s, DRATIO 1%{}]"
    command = ["explain", "--stream", "S=ts timestamp, v double", "--query"]
    assert main([*command, query.format("")]) == 0
    out = capsys.readouterr().out
    assert "what quantile estimates, so that at most 1% come later: the default" in out
    assert main([*command, query.format(", ESTIMATOR mean-distance")]) == 0
    assert "mean-distance estimates" in capsys.readouterr().out


def test_explain_shows_windows_of_tuples(capsys: pytest.CaptureFixture[str]) -> None:
    """No pane there, but a slack buffer."""
    query = "SELECT COUNT(*) AS n FROM S [RANGE 100 tuples, PARTITION BY k, SLACK 1 s]"
    assert main(["explain", "--stream", "S=ts timestamp, k string", "--query", query]) == 0
    out = capsys.readouterr().out
    assert "RANGE 100 tuples, slides on every tuple" in out and "slack buffer" in out


def test_check_shows_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A transcript that holds, and the same with a wrong number."""
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(GOOD.replace("n: 2", "n: 3"))
    assert main(["check", str(tmp_path / "good.yaml")]) == 0
    assert main(["check", str(tmp_path / "bad.yaml")]) == 1
    shown = capsys.readouterr()
    assert "expected, did not come" in shown.out + shown.err
    assert "came, not expected" in shown.out + shown.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query = ", "is not TOML"),
        ("[streams.S]\nformat = 'rate'", "'query' is missing"),
        (JOB.format(wait="SLACK 1 s") + "speed = 3", "unknown key streams.S.speed"),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before Spark starts, with the file and the key."""
    (tmp_path / "job.toml").write_text(text)
    assert main(["run", str(tmp_path / "job.toml")]) == 2
    assert message in capsys.readouterr().err
    assert main(["run", str(tmp_path / "none.toml")]) == 2
    assert "there is no file" in capsys.readouterr().err
