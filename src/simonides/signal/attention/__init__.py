"""Attention: what one head makes of its tokens."""
