"""The command line: ``slackwater run | explain | check | demo | doctor``."""
