"""Many measurements, resumable: a frozen spec, its tasks, those who run them, and the store."""
