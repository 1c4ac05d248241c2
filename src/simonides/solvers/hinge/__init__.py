"""Deciding and storing by the squared hinge."""
