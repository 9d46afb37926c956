"""Bounded regular expressions: JavaScript's, matched in a disposable worker (spec 1, "Bounded regular expressions")."""

from pepys.recall.regex.literals import required, within_words
from pepys.recall.regex.matching import Limits, Matches, check, match

__all__ = ["Limits", "Matches", "check", "match", "required", "within_words"]
