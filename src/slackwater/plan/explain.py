"""A plan in words: what runs where, how wide a pane is, what is kept."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.core.disorder.registry import DEFAULT
from slackwater.core.time import TimeDomain
from slackwater.core.windows.layout import Layout
from slackwater.core.windows.operators import AnyLayout
from slackwater.core.windows.raw import RawLayout
from slackwater.plan.stages import Plan, QueryStage

WIDTH = 12
WINDOW_END = "`window`.`end`"


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
    domain = layout.domain
    yield "  from", f"{source}, WATTR {stage.inputs[0]} ({domain.type})"
    if layout.has_arrival:
        yield "  arrival", stage.inputs[1]
    if stage.where:
        yield "  where", f"{stage.where}   [JVM]"
    yield from _window(layout)
    keys = ", ".join(key.name for key in layout.keys) or "none: everything goes to one shard"
    yield "  group by", keys
    for label, aggregate in zip(stage.labels, layout.aggregates, strict=True):
        partial = ", ".join(map(str, aggregate.partial_types))
        yield "  aggregate", f"{label} -> {aggregate.result_type}   partial: {partial}"
    if stage.having:
        yield "  having", f"{stage.having}   [JVM]"
    yield "  heartbeat", _heartbeat(stage, domain)
    if isinstance(layout, RawLayout):
        yield "  map side", "tuples as they are, to the shards of their groups; no state"
        yield "  state", "slack buffer of the tuples within the slack, window buffer of one RANGE"
        return
    yield "  map side", "Bucket and pane aggregate in one Arrow pass, no state"
    yield "  state", f"pane log and roll-up: {_state(layout)}"


def _window(layout: AnyLayout) -> Iterator[tuple[str, str]]:
    domain = layout.domain
    if isinstance(layout, RawLayout):
        length = f"{layout.range:g} tuples" if layout.counted else _span(layout.range, domain)
        yield "  window", f"RANGE {length}, slides on every tuple"
        return
    spec = layout.spec
    yield "  window", f"RANGE {_span(spec.range, domain)}, SLIDE {_span(spec.slide, domain)}"
    yield "  pane", f"{_span(spec.pane, domain)}; {_panes(layout)}"
    if layout.revise:
        yield "  revise", f"final windows are kept for {_span(layout.revise, domain)}"


def _panes(layout: Layout) -> str:
    spec = layout.spec
    panes, slide = spec.panes_per_window, spec.panes_per_slide
    text = f"a window is {panes} panes, a slide {slide}"
    nodes = panes.bit_length() - 1
    if not layout.rolls_up:
        text += "; no roll-up, since an aggregate needs every value"
    elif nodes > 0:
        text += f"; a window is read from at most {max(2 * nodes, 1)} nodes"
    return text


def _state(layout: Layout) -> str:
    spec = layout.spec
    panes = spec.panes_per_window + spec.panes_per_slide
    held = panes if spec.panes_per_window == 1 or not layout.rolls_up else 2 * panes
    text = f"about {held} rows per group, plus the panes within the slack"
    return text + (" and REVISE WITHIN" if layout.revise else "")


def _heartbeat(stage: QueryStage, domain: TimeDomain) -> str:
    plan = stage.core.estimator
    if plan is not None and plan.is_fixed:
        text = f"largest WATTR minus {_span(plan.slack, domain)} (SLACK, fixed)"
    elif plan is not None:
        text = f"largest WATTR minus what {plan.name} estimates"
        if plan.is_steered:
            text += f", so that at most {100 * plan.drop_share:g}% come later"
        text += f": {_reason(plan.name)}"
    elif stage.inputs[0] == WINDOW_END:
        text = "from the stage before"
    else:
        text = "given from outside"
    if stage.core.max_future is not None:
        text += f"; MAX FUTURE {_span(stage.core.max_future, domain)}"
    return text


def _reason(estimator: str) -> str:
    """Why this one runs: it is the default, or it was asked for."""
    return "the default" if estimator == DEFAULT else "ESTIMATOR says so"


def _span(ticks: object, domain: TimeDomain) -> str:
    number = float(ticks) / domain.per_unit  # type: ignore[arg-type]
    return f"{number:g} s" if domain.is_timestamp else f"{number:g}"
