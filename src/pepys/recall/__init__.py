"""Session recall: which sources a call is about, what is found in them, and evidence re-read from the source."""
