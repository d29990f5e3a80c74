"""The pure engine: elements, windows, aggregates and operators over Arrow and NumPy.

Nothing below this package imports Spark, parses SQL, opens a file or reads a clock.
Time is an argument. State lives in the cells that a host hands over.
"""
