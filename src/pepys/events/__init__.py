"""Event search: find, read and trace single events of past sessions, with their place in the tree (spec 3)."""
