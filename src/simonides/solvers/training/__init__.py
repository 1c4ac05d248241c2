"""Training on a loss."""
