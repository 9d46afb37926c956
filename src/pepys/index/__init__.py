"""The index: derived, disposable, and never the place that a quote is taken from."""
