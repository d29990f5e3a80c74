"""Every registered aggregate against its naive twin, whatever the way its partials were merged."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.aggregates import AGGREGATES, AggregateError, make
from slackwater.core.aggregates.base import Aggregate
from slackwater.core.grouping import group
from slackwater.core.reference.aggregates import TWINS, DecimalType, distinct, evaluate

INT64 = 2**63
EPOCH = dt.datetime(1970, 1, 1)

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-9, 9) | st.integers(-INT64, INT64 - 1),
    pa.float32(): st.floats(-1e6, 1e6, width=32),
    pa.float64(): st.floats(-1e6, 1e6)
    | st.sampled_from([0.0, -0.0, 1.0])
    | st.sampled_from([math.nan, math.inf, -math.inf]),
    pa.decimal128(5, 2): st.integers(-99999, 99999).map(lambda n: Decimal(n).scaleb(-2)),
    pa.decimal128(38, 0): st.integers(1 - 10**38, 10**38 - 1).map(Decimal),
    pa.decimal128(38, 38): st.integers(1 - 10**38, 10**38 - 1).map(
        lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -38))
    ),
    pa.string(): st.sampled_from(["", "a", "A", "b", "ä", "𝕊", "\uffff"]),
    pa.binary(): st.binary(max_size=3),
    pa.bool_(): st.booleans(),
    pa.date32(): st.integers(-9, 9).map(lambda days: dt.date(1970, 1, 1) + dt.timedelta(days)),
    pa.timestamp("us"): st.integers(-9, 9).map(lambda n: EPOCH + dt.timedelta(microseconds=n)),
}
TICKS = {pa.int64(): st.integers(-5, 5), pa.float64(): st.sampled_from([-1.5, -0.0, 0.0, 0.1, 2.5])}


def _cases() -> list[tuple[str, tuple[pa.DataType, ...]]]:
    """Every aggregate over every combination of types that it takes."""
    return [
        (name, types)
        for name, cls in AGGREGATES.items()
        for types in product(VALUES, repeat=cls.arity)
        if cls.check(types) is None and (cls.arity == 1 or len(set(types)) > 1)
    ]


@settings(max_examples=20)
@pytest.mark.parametrize("name", AGGREGATES)
@given(data=st.data())
def test_an_aggregate_equals_its_twin_however_it_is_merged(name, data):
    """Lift in any chunks, merge along any tree, finish: the twin's value for every group."""
    cases = [types for function, types in _cases() if function == name]
    types = data.draw(st.sampled_from(cases))
    time = data.draw(st.sampled_from(list(TICKS)))
    aggregate = _made(name, types, time)
    value = st.tuples(*(st.none() | VALUES[type_] for type_ in types))
    row = st.tuples(st.integers(0, 2), TICKS[time], value)
    chunks = data.draw(st.lists(st.lists(row, min_size=1, max_size=8), min_size=1, max_size=5))
    found = _through_partials(aggregate, chunks, time, data)
    for code in {code for chunk in chunks for code, _, _ in chunk}:
        members = [row for chunk in chunks for row in chunk if row[0] == code]
        columns = [[values[i] for _, _, values in members] for i in range(len(types))]
        if aggregate.uses_time:
            columns.append([tick for _, tick, _ in members])
        decimal = types[0] if pa.types.is_decimal(types[0]) else None
        digits = decimal and DecimalType(decimal.precision, decimal.scale)
        assert _alike(aggregate, found[code], evaluate(name, columns, digits), columns[0])


@settings(max_examples=40)
@pytest.mark.parametrize("name", ["COUNT", "SUM", "AVG", "MEDIAN"])
@given(data=st.data())
def test_over_distinct_values_it_is_as_over_a_set(name, data):
    """DISTINCT: repeated values, in one page or in several, count once; nulls never."""
    type_ = data.draw(st.sampled_from([pa.int8(), pa.float64()]))
    aggregate = make(name, [type_], pa.int64(), distinct=True)
    values = st.sampled_from([0.0, -0.0, 1.0, 2.5, math.nan])
    value = st.tuples(st.none() | (values if type_ == pa.float64() else st.integers(0, 3)))
    row = st.tuples(st.integers(0, 2), TICKS[pa.int64()], value)
    chunks = data.draw(st.lists(st.lists(row, min_size=1, max_size=8), min_size=1, max_size=4))
    found = _through_partials(aggregate, chunks, pa.int64(), data)
    for code in {code for chunk in chunks for code, _, _ in chunk}:
        members = [each[0] for chunk in chunks for at, _, each in chunk if at == code]
        assert _alike(aggregate, found[code], evaluate(name, [distinct(members)]), members)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.sampled_from([0.0, 0.1, 0.9]))
def test_an_approximate_percentile_is_close_in_rank(values, share):
    """The value found has about the asked share of the others below it."""
    aggregate = make("APPROX_PERCENTILE", [pa.float64()], pa.int64(), (share,))
    (found,) = _through_pages(aggregate, values, 3)
    below, up_to = (sum(v < found for v in values), sum(v <= found for v in values))
    slack = 2 + 0.02 * len(values)
    assert below - slack <= share * len(values) <= up_to + slack


def test_an_approximate_distinct_count_is_close():
    """A hundred thousand values, in pages that overlap: within four standard deviations."""
    values = [float(i % 100_000) for i in range(150_000)]
    for error in (0.03, 0.1):
        aggregate = make("APPROX_COUNT_DISTINCT", [pa.float64()], pa.int64(), (error,))
        (found,) = _through_pages(aggregate, values, 4)
        assert abs(found - 100_000) <= 4 * error * 100_000


def _through_pages(aggregate: Aggregate, values: list[float], pages: int) -> list[Any]:
    parts = []
    for at in range(pages):
        column = pa.array(values[at::pages], pa.float64())
        groups, _ = group([np.zeros(len(column), dtype=np.int64)])
        parts += [aggregate.lift(groups, [column])] if len(column) else []
    groups, _ = group([np.zeros(len(parts), dtype=np.int64)])
    columns = [pa.concat_arrays(column) for column in zip(*parts, strict=True)]
    return aggregate.finish(aggregate.merge(groups, columns)).to_pylist()


def _made(name: str, types: Any, time: pa.DataType) -> Aggregate:
    return make(name, types, time, (0.5,) * AGGREGATES[name].constants_needed)


def _through_partials(aggregate: Aggregate, chunks: Any, time: pa.DataType, data: Any) -> Any:
    """Results by group: chunks are lifted one by one, then merged some at a time."""
    parts = [_lifted(aggregate, chunk, time) for chunk in chunks]
    while len(parts) > 1:
        count = data.draw(st.integers(2, len(parts)))
        chosen = data.draw(st.permutations(parts))
        parts = [*chosen[count:], _merged(aggregate, chosen[:count])]
    codes, partials = parts[0]
    results = aggregate.finish(partials)
    assert results.type == aggregate.result_type
    return dict(zip(codes.tolist(), results.to_pylist(), strict=True))


def _lifted(aggregate: Aggregate, chunk: Any, time: pa.DataType) -> Any:
    codes, ticks, values = zip(*chunk, strict=True)
    types = aggregate.inputs[:-1] if aggregate.uses_time else aggregate.inputs
    columns = [
        pa.array([None, *column], type_)[1:]  # an offset, as slices of pages have
        for column, type_ in zip(zip(*values, strict=True), types, strict=True)
    ]
    if aggregate.uses_time:
        columns.append(pa.array(ticks, time))
    groups, (found,) = group([np.array(codes)])
    return np.asarray(found), _checked(aggregate, aggregate.lift(groups, columns))


def _merged(aggregate: Aggregate, parts: Any) -> Any:
    groups, (found,) = group([np.concatenate([codes for codes, _ in parts])])
    columns = [pa.concat_arrays(column) for column in zip(*(p for _, p in parts), strict=True)]
    return np.asarray(found), _checked(aggregate, aggregate.merge(groups, columns))


def _checked(aggregate: Aggregate, partials: list[pa.Array]) -> list[pa.Array]:
    assert tuple(partial.type for partial in partials) == aggregate.partial_types
    return partials


def _alike(aggregate: Aggregate, found: Any, expected: Any, values: list[Any]) -> bool:
    """Equal; for sums of floats within what rounding can do to these very values."""
    if not isinstance(expected, float) or found is None:
        return found == expected
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    if found == expected:
        return True
    finite = [abs(float(v)) for v in values if v is not None and math.isfinite(v)]
    if aggregate.function == "APPROX_PERCENTILE":
        return min(finite) * (1 - 1e-9) <= abs(found) <= max(finite) * (1 + 1e-9) or found == 0
    if aggregate.function.startswith(("VAR", "STDDEV")):
        return _close_spread(aggregate.function, found, expected, max(finite))
    return abs(found - expected) <= 1e-14 * sum(finite)


def _close_spread(function: str, found: float, expected: float, scale: float) -> bool:
    if function.startswith("STDDEV"):
        found, expected = found**2, expected**2
    slack = 1e-9 * expected + 1e-14 * scale * math.sqrt(expected) + (1e-14 * scale) ** 2
    return abs(found - expected) <= slack


def test_every_aggregate_has_a_twin():
    """A new aggregate is not done before the reference says what its right answer is."""
    assert set(AGGREGATES) == set(TWINS)


def test_every_aggregate_takes_at_least_one_type():
    """The property test above leaves no aggregate out."""
    assert {name for name, _ in _cases()} == set(AGGREGATES)


@pytest.mark.parametrize("name", AGGREGATES)
def test_a_group_of_nulls_is_null_or_none_are_counted(name):
    """Nothing but nulls: COUNT is zero, everything else is null."""
    cls = AGGREGATES[name]
    types = next(types for function, types in _cases() if function == name)
    aggregate = _made(name, types, pa.int64())
    groups, _ = group([np.zeros(2, dtype=np.int64)])
    columns = [pa.nulls(2, type_) for type_ in types]
    columns += [pa.array([1, 2])] if cls.uses_time else []
    assert aggregate.finish(aggregate.lift(groups, columns)).to_pylist() in ([0], [None])


def test_count_without_an_argument_counts_tuples():
    """COUNT(*) counts every tuple, and its partials add up."""
    count = make("COUNT", [], pa.int64())
    groups, _ = group([np.array([0, 1, 1])])
    lifted = count.lift(groups, [])
    again, _ = group([np.array([0, 0])])
    assert count.finish(count.merge(again, lifted)).to_pylist() == [3]


def test_a_variance_keeps_its_digits_far_from_zero():
    """A billion and 0, 1, 2 on top: the variance is one, not noise."""
    assert _of("VAR_SAMP", pa.array([1e9, 1e9 + 1, 1e9 + 2])) == pytest.approx(1.0, rel=1e-12)


def test_equal_values_have_no_variance():
    """One hundred times 0.1 has variance zero, to the last digit."""
    assert _of("VAR_POP", pa.array([0.1] * 100)) == 0.0


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_spread_beside_infinity_is_not_a_number(odd):
    """One value that is no number: NaN, in its own group only; of a sample of one still null."""
    values, codes = pa.array([odd, 1.0, 2.0, 5.0, odd]), np.array([0, 0, 1, 1, 2])
    population, sample = (_by_group(name, values, codes) for name in ("VAR_POP", "VAR_SAMP"))
    assert [math.isnan(found) for found in population] == [True, False, True]
    assert population[1] == 2.25
    assert math.isnan(sample[0]) and sample[1:] == [4.5, None]


@pytest.mark.parametrize("values", [[1e308, -1e308], [1e200, 2e200, 3e200]])
def test_a_spread_too_large_for_a_float_is_no_number_and_no_error(values):
    """Squares beyond 1e308: infinite or NaN, and nothing is raised."""
    assert not math.isfinite(_of("STDDEV_POP", pa.array(values)))


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (pa.decimal128(38, 0), Decimal(10**34)),
        (pa.decimal128(38, 0), Decimal(-(10**34))),
        (pa.decimal128(38, 36), Decimal("-1.5")),
    ],
)
def test_a_decimal_mean_too_large_for_its_type_is_null(type_, value):
    """AVG has four digits more after the point, so fewer before it: null where they lack."""
    assert _of("AVG", pa.array([value], type_)) is None


def test_an_integer_sum_outside_64_bits_is_null():
    """Too large is null, and a sum that comes back into range on the way is right."""
    big = INT64 - 1
    assert _of("SUM", pa.array([big, 1])) is None
    assert _of("SUM", pa.array([big, big, -big, 1 - big])) == 1


def test_a_decimal_mean_is_rounded_half_away_from_zero():
    """1 and 2 thirds of a cent, as Spark rounds them, on both sides of zero."""
    type_ = pa.decimal128(5, 2)
    cents = [Decimal("0.01"), Decimal("0.00"), Decimal("0.00")]
    assert _of("AVG", pa.array(cents, type_)) == Decimal("0.003333")
    assert _of("AVG", pa.array([Decimal("-0.01"), Decimal("0.00")] * 8, type_)) == Decimal("-0.005")


def test_a_tie_in_time_is_won_by_the_smaller_value():
    """FIRST of two tuples of the same tick does not depend on which came first; null loses."""
    ticks = pa.array([5, 5, 5])
    assert _of("FIRST", pa.array(["b", None, "a"]), ticks) == "a"
    assert _of("LAST", pa.array([None, "b", "a"]), ticks) == "a"


@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        ("MEDIAN OF MEDIANS", [pa.int64()], "there is no aggregate MEDIAN OF MEDIANS"),
        ("SUM", [pa.string()], "SUM needs a number"),
        ("MIN", [pa.list_(pa.int64())], "MIN needs values with an order"),
        ("ARG_MAX", [pa.int64()], "ARG_MAX takes 2 arguments, not 1"),
        ("MIN", [], "MIN takes 1 argument, not 0"),
    ],
)
def test_what_cannot_be_had_is_refused_with_its_reason(name, types, message):
    """Unknown functions, wrong counts and wrong types: the message names what is missing."""
    with pytest.raises(AggregateError, match=message):
        make(name, types, pa.int64())


def _of(name: str, values: pa.Array, *more: pa.Array) -> Any:
    return _by_group(name, values, np.zeros(len(values), dtype=np.int64), *more)[0]


def _by_group(name: str, values: pa.Array, codes: Any, *more: pa.Array) -> list[Any]:
    aggregate = make(name, [values.type], pa.int64())
    groups, _ = group([codes])
    return aggregate.finish(aggregate.lift(groups, [values, *more])).to_pylist()
