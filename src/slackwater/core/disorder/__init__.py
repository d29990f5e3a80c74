"""Disorder control: how far the heartbeat trails the stream."""
