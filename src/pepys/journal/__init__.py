"""The journal (spec 4): daily memory files that agents share, what fills them, and recall over them in three layers."""
