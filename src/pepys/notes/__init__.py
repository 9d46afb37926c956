"""Durable notes (spec 5): one-line facts in two markdown files, which people edit and agents are given."""
