"""Benchmarks: one command, JSON out. What the figures mean: docs/explanation/benchmarks.md."""
