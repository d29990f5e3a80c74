"""Hosts drive the operators: ``replay`` in process, ``spark`` on Spark."""
