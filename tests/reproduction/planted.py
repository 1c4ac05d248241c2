"""Results that are what a test says."""

from simonides.reproduction.results import where


class Planted:
    """Results that are the given rows, and no others."""

    def __init__(self, plan=None, **sweeps):
        self.plan, self._sweeps = plan, sweeps

    def tables(self, figure):
        return figure.tables(self)

    def rows(self, sweep, **columns):
        return where(self._sweeps.get(sweep, []), **columns)
