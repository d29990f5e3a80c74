"""The builder says in methods what a query says in text."""

from __future__ import annotations

import pyarrow as pa

import slackwater as sw


def test_every_part_of_the_window_clause_has_a_name():
    """What is written is what CQL reads."""
    query = (
        sw.stream("S")
        .window(
            range="100 tuples", wattr="id", dratio="1%", estimator="quantile", arrival="at",
            max_future=5, partition_by="k",
        )
        .select(n="COUNT(*)")
    )  # fmt: skip
    assert str(query).splitlines()[1] == (
        "FROM S [RANGE 100 tuples, WATTR id, DRATIO 1%, ESTIMATOR quantile, ARRIVAL at, "
        "MAX FUTURE 5, PARTITION BY k]"
    )
    assert "quantile" in sw.explain(query, {"S": "id bigint, at bigint, k string"})


def test_a_built_query_gives_what_the_text_gives():
    """The same rows, late revisions included."""
    pages = [pa.table({"t": [1, 12], "v": [1, 2]}), pa.table({"t": [3, 25], "v": [4, 8]})]
    built = (
        sw.stream("S")
        .window(range=10, slide=10, wattr="t", slack=0, revise_within=20)
        .where("v > 0")
        .select(s="SUM(v)")
        .having("s > 1")
    )
    text = (
        "SELECT SUM(v) AS s FROM S [RANGE 10, SLIDE 10, WATTR t, SLACK 0, REVISE WITHIN 20] "
        "WHERE v > 0 HAVING s > 1"
    )
    found = sw.replay(built, {"S": pages})
    assert found.equals(sw.replay(text, {"S": pages}))
    assert found.column("kind").to_pylist() == ["revised", "final"]
