"""Pictures: each reads a table and draws it; none computes."""
