"""The paper on signals, redone: curves, figures, claims."""
