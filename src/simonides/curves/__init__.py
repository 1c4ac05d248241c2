"""Tables of theory curves: computed here, drawn in ``figures`` and printed by ``cli``."""
