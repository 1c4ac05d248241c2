"""Facts put into a layer of a language model by the least change of its weights."""
