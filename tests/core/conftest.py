"""Puts this folder on the path, so that the tests below it find ``stage_twin``."""
