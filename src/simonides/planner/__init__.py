"""What the linear layers of a real model could hold: read their shapes, price them, choose ranks."""
