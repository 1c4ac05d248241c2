"""Facts of the real world: a sentence encoder's vectors, cities and countries."""
