"""Shelf of capture formats: a file here is one container (pcap, pcapng ...) or one kind of frame in it (ethernet, wlan ...)."""
