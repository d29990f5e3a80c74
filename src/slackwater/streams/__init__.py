"""Synthetic streams with controlled disorder, for tests, experiments and demonstrations.

NumPy and Arrow only: no Spark, no clock, no environment.
"""

from slackwater.streams.generator import DisorderedStream

__all__ = ["DisorderedStream"]
