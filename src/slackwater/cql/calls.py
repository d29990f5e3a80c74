"""Aggregate calls as SQL writes them: which function, over what, with which constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from slackwater.core.aggregates import AGGREGATES

_NAMES: Mapping[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.Variance: "VAR_SAMP",
    exp.VariancePop: "VAR_POP",
    exp.Stddev: "STDDEV_SAMP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.StddevPop: "STDDEV_POP",
    exp.First: "FIRST",
    exp.FirstValue: "FIRST",
    exp.Last: "LAST",
    exp.LastValue: "LAST",
    exp.ArgMin: "ARG_MIN",
    exp.ArgMax: "ARG_MAX",
    exp.Median: "MEDIAN",
    exp.Quantile: "PERCENTILE",
    exp.PercentileCont: "PERCENTILE",
    exp.ApproxQuantile: "APPROX_PERCENTILE",
    exp.ApproxDistinct: "APPROX_COUNT_DISTINCT",
}
_ALIASES = {"AVERAGE": "AVG", "MEAN": "AVG", "STD": "STDDEV_SAMP"}
_CONSTANTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Quantile: ("quantile",),
    exp.ApproxQuantile: ("quantile", "accuracy"),
    exp.ApproxDistinct: ("accuracy",),
}
OTHERS = f"aggregates that can be had: {', '.join(AGGREGATES)}"


class CallError(Exception):
    """A call that cannot be had: what is wrong, with which node, and what to write instead."""

    def __init__(self, message: str, node: exp.Expr, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.node, self.hint = message, node, hint


@dataclass
class Call:
    """An aggregate call: the function, its arguments as SQL, and where it stands."""

    function: str
    arguments: tuple[str, ...]
    label: str
    offset: int
    constants: tuple[float, ...] = ()
    distinct: bool = False

    @property
    def what(self) -> tuple[object, ...]:
        """Calls that agree in this are computed once."""
        return self.function, self.arguments, self.constants, self.distinct


@dataclass(frozen=True)
class Written:
    """A call taken apart, its arguments still nodes."""

    function: str
    node: exp.Expr
    arguments: tuple[exp.Expr, ...]
    constants: tuple[float, ...]
    condition: exp.Expr | None
    distinct: bool


def is_wrapper(node: exp.Expr) -> bool:
    """Whether a node stands around an aggregate call and belongs to it."""
    return isinstance(node, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup))


def function_of(node: exp.Expr) -> str | None:
    """The aggregate that a node calls; an aggregate that there is not is refused."""
    if type(node) in _NAMES:
        return _NAMES[type(node)]
    if isinstance(node, exp.Anonymous) and node.name.upper() in _ALIASES:
        return _ALIASES[node.name.upper()]
    if isinstance(node, exp.AggFunc):
        raise CallError(f"the aggregate {head(node)} cannot be had", node, OTHERS)
    return None


def taken_apart(node: exp.Expr) -> Written:
    """A call with all that is wrapped around it."""
    condition, ordered, inner, ignore = None, None, node, False
    while is_wrapper(inner):
        if isinstance(inner, exp.Filter):
            condition = inner.expression.this
        if isinstance(inner, exp.WithinGroup):
            ordered = _ordered(inner)
        ignore |= isinstance(inner, exp.IgnoreNulls)
        inner = inner.this
    function = function_of(inner)
    if function is None:
        raise CallError(f"{head(inner)} is not an aggregate", inner, OTHERS)
    given = [inner.args.get(name) for name in _CONSTANTS.get(type(inner), ())]
    arguments = _arguments(inner)
    if ordered is not None:
        given, arguments = [*arguments], [ordered]
    elif isinstance(inner, exp.PercentileCont):
        raise CallError(
            "PERCENTILE_CONT says by its order what it is of", inner,
            "PERCENTILE(x, 0.5), or PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
        )  # fmt: skip
    for argument in arguments:
        if isinstance(argument, exp.Star) or any(
            isinstance(each, exp.Star) for each in argument.expressions
        ):
            raise CallError(
                f"{head(inner)} cannot be of *", inner, "name a column; COUNT(*) counts tuples"
            )
    distinct = len(arguments) > 0 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = [*arguments[0].expressions, *arguments[1:]]
    if ignore and function in ("FIRST", "LAST"):
        function += " IGNORE NULLS"
    constants = tuple(_constant(inner, each) for each in given if each is not None)
    return Written(function, inner, tuple(arguments), constants, condition, distinct)


def head(node: exp.Expr) -> str:
    """The function's name as it was written."""
    text: str = node.sql(dialect="spark", normalize_functions=False)
    return text.split("(")[0].upper()


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a call; COUNT(*) and COUNT(1) have none."""
    if isinstance(node, exp.Count) and node.this is None and not node.expressions:
        raise CallError("COUNT of what?", node, "COUNT(*) counts tuples, COUNT(x) where x is there")
    if isinstance(node, exp.Count) and isinstance(node.this, (exp.Star, exp.Literal)):
        return []
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    found: Sequence[object] = [node.this, node.args.get("expression"), *node.expressions]
    return [argument for argument in found if isinstance(argument, exp.Expr)]


def _ordered(node: exp.WithinGroup) -> exp.Expr:
    """What WITHIN GROUP (ORDER BY …) orders by."""
    (first, *more) = node.expression.expressions
    if more or first.args.get("desc"):
        raise CallError(
            "WITHIN GROUP orders by one expression, upwards", node,
            "for the other end write PERCENTILE_CONT(0.9) for PERCENTILE_CONT(0.1)",
        )  # fmt: skip
    ordered: exp.Expr = first.this
    return ordered


def _constant(call: exp.Expr, node: exp.Expr) -> float:
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.this)
    raise CallError(
        f"{head(call)} needs a plain number here", node, "for example PERCENTILE(x, 0.95)"
    )
