"""The paper, redone: which sweeps are run, what each figure and each claim reads from them."""
