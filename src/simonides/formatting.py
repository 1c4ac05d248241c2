"""Numbers as people write them."""

from __future__ import annotations


def count(value: float) -> str:
    """Return a number of things: whole from a thousand on, with separators.

    >>> count(123.456), count(867136.4)
    ('123.5', '867,136')
    """
    if value >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def short(value: float) -> str:
    """Return a number to five significant digits, whole numbers in full.

    >>> short(1000.0), short(0.123456789), short(float("inf"))
    ('1,000', '0.12346', 'inf')
    """
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e9 else f"{value:.5g}"
