"""Transcripts: queries tested by what goes in and what must come out, on any host."""

from slackwater.testing.bare import BareSteps
from slackwater.testing.check import Steps, TranscriptError, check
from slackwater.testing.replay import ReplaySteps
from slackwater.testing.transcript import NotOnThisHostError, Transcript, load

__all__ = [
    "BareSteps",
    "NotOnThisHostError",
    "ReplaySteps",
    "Steps",
    "Transcript",
    "TranscriptError",
    "check",
    "load",
]
