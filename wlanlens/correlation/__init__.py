"""Several captures combined, packet by packet: which rows are one packet, where it was lost, and what delayed it."""
