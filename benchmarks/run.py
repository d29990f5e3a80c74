"""Benchmarks: ``python benchmarks/run.py NAME``. Each prints one line of JSON.

Results are compared before anything is timed; runs alternate; ratios are from one run.
Absolute rates mean little: they depend on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import costs
import disorder
import windows

BENCHMARKS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "sliding": windows.sliding,
    "tumbling": windows.tumbling,
    "groups": windows.groups,
    "disorder": disorder.disorder,
    "slack": costs.slack_buffer,
    "estimators": costs.estimators,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("--rounds", type=int, default=3, help="how often each side runs")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full input")
    arguments = parser.parse_args()
    print(json.dumps({"name": arguments.name} | BENCHMARKS[arguments.name](arguments)))


if __name__ == "__main__":
    main()
