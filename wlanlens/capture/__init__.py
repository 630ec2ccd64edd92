"""What one tap recorded: the file and its tables, how far it can be trusted, keys, and the USB bus it shows."""
