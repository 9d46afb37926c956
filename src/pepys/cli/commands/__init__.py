"""One module a command, with `configure` and `run` (`pepys.cli.options.Command`)."""
