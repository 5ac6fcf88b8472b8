"""What a panel is, and its kinds."""


class Panel:
    """queries: (legend, expression). needs: what a run without it cannot show; empty then. look: see
    dashboard.py."""

    def __init__(self, kind, title, unit, help, *queries, needs="", **look):
        self.kind, self.title, self.unit, self.help = kind, title, unit, help
        self.queries, self.needs, self.look = queries, needs, look


def stat(title, unit, help, query, legend="", **look):
    return Panel("stat", title, unit, help, (legend, query), **look)


def gauge(title, help, query, **look):
    return Panel("gauge", title, "percentunit", help, ("", query), max=1, **look)


def lines(title, unit, help, *queries, **look):
    return Panel("timeseries", title, unit, help, *queries, **look)


def stack(*args, **look):
    return lines(*args, stacked=True, **look)
