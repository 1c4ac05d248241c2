"""Formulas: pure functions of numbers, without input, output or hidden randomness."""
