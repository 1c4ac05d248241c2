"""Whether facts can be stored, proved."""
