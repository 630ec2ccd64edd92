"""What several captures say together of each packet: where it passed, where it was lost, where its delay came from."""
