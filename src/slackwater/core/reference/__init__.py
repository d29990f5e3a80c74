"""Naive twins of the algorithms in core: for tests and for clarity, never for speed.

Plain Python over lists and tuples, the standard library only. A twin says what the right
answer is in the shortest way that can be checked by reading; loops over tuples are meant.
"""
