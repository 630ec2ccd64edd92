"""The command line: one file per subcommand parses arguments, calls public functions and prints."""
