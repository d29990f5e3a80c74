"""``slackwater check``: transcripts on the host of choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slackwater.errors import SlackwaterError
from slackwater.testing import (
    BareSteps,
    NotOnThisHostError,
    ReplaySteps,
    Steps,
    Transcript,
    TranscriptError,
    check,
    load,
)


def check_files(files: Sequence[str], host: str) -> int:
    """0 if every transcript holds, 1 if one does not."""
    transcripts = [transcript for file in files for transcript in load(file)]
    if host != "spark":
        return _check_all(transcripts, {"replay": ReplaySteps, "bare": BareSteps}[host])
    from slackwater.cli.session import spark_session
    from slackwater.cql import compile_query
    from slackwater.hosts.spark import SparkSteps, spark_typer

    with spark_session() as spark:

        def start(transcript: Transcript) -> Steps:
            plan = compile_query(
                transcript.query, transcript.streams, spark_typer(spark), transcript.external
            )
            return SparkSteps(spark, plan)

        return _check_all(transcripts, start)


def _check_all(transcripts: Sequence[Transcript], start: Callable[[Transcript], Steps]) -> int:
    failed = skipped = 0
    for transcript in transcripts:
        try:
            check(transcript, start)
            print(f"ok      {transcript.name}")
        except NotOnThisHostError as reason:
            skipped += 1
            print(f"skipped {transcript.name}: {reason}")
        except (TranscriptError, SlackwaterError) as error:
            failed += 1
            print(f"FAILED  {error}")
    held = len(transcripts) - failed - skipped
    print(f"{held} hold, {failed} fail" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0
