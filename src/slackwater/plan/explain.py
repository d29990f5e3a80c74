"""A plan in words: what runs where, how wide a pane is, what is kept."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.core.disorder.control import Fixed
from slackwater.core.time import TimeDomain
from slackwater.core.windows.layout import Layout
from slackwater.plan.stages import Plan, QueryStage

WIDTH = 12


def explain(plan: Plan, shards: int | None = None) -> str:
    """The plan of a query as text."""
    lines = [_line("query", " ".join(plan.query.split()))]
    for number, stage in enumerate(plan.stages, 1):
        source = f"stream {plan.stream}" if number == 1 else f"results of stage {number - 1}"
        lines.append(f"stage {number} of {len(plan.stages)}")
        lines += [_line(name, text) for name, text in _stage(stage, source)]
    where = f"{shards} shards" if shards else "one shard per shuffle partition"
    lines.append(_line("runs on", f"{where}; groups are dealt to shards by a hash of their keys"))
    columns = ", ".join(f"{f.name} {f.type}" for f in plan.result_schema)
    lines.append(_line("result", columns))
    return "\n".join(lines)


def _line(name: str, text: str) -> str:
    return f"{name:<{WIDTH}}{text}"


def _stage(stage: QueryStage, source: str) -> Iterator[tuple[str, str]]:
    layout = stage.core.layout
    spec, domain = layout.spec, layout.domain
    yield "  from", f"{source}, WATTR {stage.inputs[0]} ({domain.type})"
    if stage.where:
        yield "  where", f"{stage.where}   [JVM]"
    yield "  window", f"RANGE {_span(spec.range, domain)}, SLIDE {_span(spec.slide, domain)}"
    width = _span(spec.pane, domain)
    yield "  pane", f"{width}; {_panes(layout)}"
    keys = ", ".join(key.name for key in layout.keys) or "none: everything goes to one shard"
    yield "  group by", keys
    for label, aggregate in zip(stage.labels, layout.aggregates, strict=True):
        partial = ", ".join(map(str, aggregate.partial_types))
        yield "  aggregate", f"{label} -> {aggregate.result_type}   partial: {partial}"
    if stage.having:
        yield "  having", f"{stage.having}   [JVM]"
    yield "  heartbeat", _heartbeat(stage, domain)
    yield "  map side", "Bucket and pane aggregate in one Arrow pass, no state"
    yield "  state", f"pane log and roll-up: {_state(layout)}"


def _panes(layout: Layout) -> str:
    spec = layout.spec
    panes, slide = spec.panes_per_window, spec.panes_per_slide
    text = f"a window is {panes} panes, a slide {slide}"
    nodes = panes.bit_length() - 1
    if nodes > 0:
        text += f"; a window is read from at most {max(2 * nodes, 1)} nodes"
    return text


def _state(layout: Layout) -> str:
    spec = layout.spec
    panes = spec.panes_per_window + spec.panes_per_slide
    held = panes if spec.panes_per_window == 1 else 2 * panes
    return f"about {held} rows per group, plus the panes within the slack"


def _heartbeat(stage: QueryStage, domain: TimeDomain) -> str:
    estimator = stage.core.estimator
    if isinstance(estimator, Fixed):
        text = f"largest WATTR minus {_span(estimator.constant, domain)} (SLACK, fixed)"
    elif stage.core.layout.time_is_window_end:
        text = "from the stage before"
    else:
        text = "given from outside"
    if stage.core.max_future is not None:
        text += f"; MAX FUTURE {_span(stage.core.max_future, domain)}"
    return text


def _span(ticks: object, domain: TimeDomain) -> str:
    number = float(ticks) / domain.per_unit  # type: ignore[arg-type]
    return f"{number:g} s" if domain.is_timestamp else f"{number:g}"
