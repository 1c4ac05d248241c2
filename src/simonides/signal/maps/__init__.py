"""How a block maps variances, cosines and gradients."""
