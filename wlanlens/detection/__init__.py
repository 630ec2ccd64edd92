"""From detectors to findings: running them, the Finding, and the sentence of the verdict."""
