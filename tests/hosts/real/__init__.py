"""The real hosts, offline: each in a home of its own, with a scripted model."""
