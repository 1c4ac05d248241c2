"""Random networks, run."""
