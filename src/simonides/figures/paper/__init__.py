"""The paper's figures, redrawn: one module each, reading tables, never computing."""
