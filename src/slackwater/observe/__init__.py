"""What a running query reports, the same from every host."""

from slackwater.observe.report import Report, report_of

__all__ = ["Report", "report_of"]
