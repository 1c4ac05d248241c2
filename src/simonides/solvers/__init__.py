"""Ways of finding the weights: one file each, all returning the same ``Solution``."""
