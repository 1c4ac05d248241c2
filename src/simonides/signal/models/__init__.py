"""Models that people have: read, measured, trained."""
