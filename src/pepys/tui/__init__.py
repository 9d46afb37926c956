"""Screens for a terminal. Needs the extra `pepys[tui]`; nothing else imports it but the commands that open a screen."""
