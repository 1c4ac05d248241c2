"""The HTML report: one page, no network, pictures and their data beside it."""
