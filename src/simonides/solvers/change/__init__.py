"""The least change of a matrix that stores facts."""
