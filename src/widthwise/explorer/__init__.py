"""The explorer: a local page on which the theory follows a slider (needs the ``explorer`` extra)."""

__all__: list[str] = []
