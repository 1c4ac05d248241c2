"""Rules: weights in one pass over the facts."""
