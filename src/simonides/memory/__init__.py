"""A memory for people with keys and values in arrays: fit, predict, score, diagnose, keep."""
