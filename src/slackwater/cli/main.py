"""Arguments to commands. Each command is a function that returns an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from slackwater.errors import SlackwaterError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors that people can mend are printed without a traceback."""
    options = parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except SlackwaterError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="slackwater", description=_DESCRIPTION)
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    run = commands.add_parser(
        "run", help="run the job in a TOML file",
        description="Run the job in a TOML file, with a line per batch on the standard error.",
    )  # fmt: skip
    run.add_argument("job", help="the job file (docs/guide.md says what it holds)")
    run.add_argument("--once", action="store_true", help="take what is there, then stop")
    run.set_defaults(command=_run)

    explain = commands.add_parser(
        "explain", help="show the plan of a job, start nothing",
        description="Show the plan of a job file or of a query: pane width, state, what runs "
        "where. No data is read.",
    )  # fmt: skip
    explain.add_argument("job", nargs="?", help="the job file")
    explain.add_argument("--query", help="a query, instead of a job file")
    explain.add_argument(
        "--stream", action="append", default=[], metavar="NAME=COLUMNS",
        help='columns of a stream, as "S=ts timestamp, v double"; with --query',
    )  # fmt: skip
    explain.set_defaults(command=_explain)

    check = commands.add_parser(
        "check", help="run transcripts and show what differs",
        description="Run transcripts and show what differs from what they expect.",
    )  # fmt: skip
    check.add_argument("files", nargs="+", help="transcript files (YAML)")
    check.add_argument(
        "--host", choices=("replay", "spark", "bare"), default="replay",
        help="in process, on Spark, or on the bare operator (default: replay)",
    )  # fmt: skip
    check.set_defaults(command=_check)

    _add_advise(commands)

    demo = commands.add_parser(
        "demo", help="a grouped sliding window over a disordered stream",
        description="Run a grouped sliding window over a generated, disordered stream on this "
        "machine, then say what became of every tuple.",
    )  # fmt: skip
    demo.add_argument("--seconds", type=int, default=30, help="how long (default: 30)")
    demo.add_argument("--rate", type=int, default=5_000, help="tuples per second (default: 5000)")
    demo.set_defaults(command=_demo)

    doctor = commands.add_parser(
        "doctor", help="check Java, Spark and Python with a smoke run",
        description="Look at Python, Java and the packages, run one batch on Spark, and say "
        "whether Slackwater can run here.",
    )  # fmt: skip
    doctor.set_defaults(command=_doctor)
    return top


def _add_advise(commands: Any) -> None:
    advise = commands.add_parser(
        "advise", help="say what delay a recorded stream needs",
        description="Read a file of tuples in the order in which they came, and say what slack "
        "each DRATIO would have needed and what each estimator would have lost and waited.",
    )  # fmt: skip
    advise.add_argument("file", help="Parquet, CSV, JSON lines, Arrow, Feather or ORC")
    advise.add_argument("--wattr", required=True, help="the column that windows go by")
    advise.add_argument(
        "--arrival", help="the column that says when a tuple came; else the order of the file rules"
    )
    advise.add_argument("--plot", metavar="PNG", help="draw how late tuples are, to this file")
    advise.set_defaults(command=_advise)


_DESCRIPTION = "Continuous window queries over disordered streams, on Spark."


# Commands are imported when they are called: Spark takes a while to import.


def _run(options: argparse.Namespace) -> int:
    from slackwater.cli.run import run_job

    return run_job(options.job, once=options.once)


def _explain(options: argparse.Namespace) -> int:
    from slackwater.cli.explain import explain_command

    return explain_command(options.job, options.query, options.stream)


def _check(options: argparse.Namespace) -> int:
    from slackwater.cli.check import check_files

    return check_files(options.files, options.host)


def _advise(options: argparse.Namespace) -> int:
    from slackwater.cli.advise import advise

    return advise(options.file, options.wattr, options.arrival, options.plot)


def _demo(options: argparse.Namespace) -> int:
    from slackwater.cli.demo import demo

    return demo(options.seconds, options.rate)


def _doctor(options: argparse.Namespace) -> int:
    from slackwater.cli.doctor import doctor

    return doctor()


if __name__ == "__main__":
    sys.exit(main())
