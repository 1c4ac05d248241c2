"""Accuracy and time of what the documentation claims; ``make bench`` runs all of it."""
