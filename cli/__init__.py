"""The command line: parsing and printing. Every subcommand is one file and calls public functions only."""
