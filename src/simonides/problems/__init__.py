"""What is to be stored: frozen problems that theory, solvers and experiments share."""
