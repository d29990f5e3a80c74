"""``slackwater advise`` answers from any file, and says plainly what it cannot use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from slackwater.cli.main import main
from slackwater.streams import DisorderedStream

STREAM = DisorderedStream(rate=400, delay="exponential", delay_mean=0.5, spacing="poisson", seed=8)
TABLE = STREAM.between(0, 20_000_000)
WRITERS: dict[str, Callable[[pa.Table, str], object]] = {
    "parquet": pq.write_table, "csv": csv.write_csv, "feather": feather.write_feather,
    "orc": lambda table, path: orc.write_table(table, path),
    "jsonl": lambda table, path: Path(path).write_text(
        "".join(f'{{"ts": "{t}", "arrival": "{a}"}}\n' for t, a in _texts(table))
    ),
}  # fmt: skip


def _texts(table: pa.Table) -> list[tuple[str, str]]:
    plain = (table.column(n).cast(pa.timestamp("us")).to_pylist() for n in ("ts", "arrival"))
    return [(str(t), str(a)) for t, a in zip(*plain, strict=True)]


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_advice(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the format, and with the order of arrival from the file or from a column."""
    path = tmp_path / f"events.{ending}"
    WRITERS[ending](TABLE, str(path))
    assert main(["advise", str(path), "--wattr", "ts", "--arrival", "arrival"]) == 0
    out = capsys.readouterr().out
    assert f"{TABLE.num_rows:,} tuples in the order of arrival" in out
    for word in (
        "quantile",
        "remote-clock",
        "p95",
        "DRATIO 0.1%",
        "A constant that loses 1%",
    ):
        assert word in out
    assert main(["advise", str(path), "--wattr", "ts"]) == 0
    assert "of the file, taken as that of arrival" in capsys.readouterr().out


def test_the_constant_it_names_loses_as_little_as_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One tuple in ten is 5 late: 5% and less need a slack of 5, and so it says."""
    ticks = [i - 5 if i % 10 == 9 else i for i in range(2_000)]
    pq.write_table(pa.table({"id": ticks}), tmp_path / "ids.parquet")
    assert main(["advise", str(tmp_path / "ids.parquet"), "--wattr", "id"]) == 0
    lines = capsys.readouterr().out.splitlines()
    needed = [line.split() for line in lines if line.startswith("  ")][:5]
    assert [row[1] for row in needed] == ["4"] * 5  # 4 below the one before
    assert not any("p95" in line for line in lines)


def test_one_broken_clock_does_not_spoil_the_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One tuple from far ahead: the slack that is named is that of the others."""
    random = np.random.default_rng(1)
    ticks = np.arange(3_000) * 10 - random.exponential(50, 3_000).astype(np.int64)
    for broken in (False, True):
        if broken:
            ticks[1_500] = 10**12
        pq.write_table(pa.table({"t": ticks}), tmp_path / "t.parquet")
        assert main(["advise", str(tmp_path / "t.parquet"), "--wattr", "t"]) == 0
        needed = capsys.readouterr().out.split("  1% ")[1].split()[0]
        assert 100 < float(needed) < 400


def test_a_file_out_of_order_is_recognised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Newest first: no estimator can help, and it says what may be wrong."""
    pq.write_table(pa.table({"t": list(range(5_000, 0, -1))}), tmp_path / "t.parquet")
    assert main(["advise", str(tmp_path / "t.parquet"), "--wattr", "t"]) == 0
    assert "Is the file in the order of arrival?" in " ".join(capsys.readouterr().out.split())


def test_a_plot_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--plot leaves a PNG."""
    pq.write_table(TABLE, tmp_path / "events.parquet")
    picture = tmp_path / "late.png"
    command = ["advise", str(tmp_path / "events.parquet"), "--wattr", "ts", "--plot", str(picture)]
    assert main(command) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "there is no file"),
        ("some.xlsx", "a", "the name must end in one of .parquet"),
        ("broken.parquet", "not parquet", "cannot read"),
        ("other.csv", "a,b\n1,2\n", "has no column 'ts'; it has a, b"),
        ("text.csv", "ts\nsoon\nlater\n", "is text, and no timestamp"),
        ("short.csv", "ts\n1\n2\n", "has 2 tuples with a usable ts"),
    ],
)
def test_what_cannot_be_used_is_said(
    name: str, content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says what is wrong and with what; no traceback."""
    if content is not None:
        (tmp_path / name).write_text(content)
    assert main(["advise", str(tmp_path / name), "--wattr", "ts"]) == 2
    assert message in capsys.readouterr().err
