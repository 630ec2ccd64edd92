"""What detectors share."""
