"""A module that ends Python when it is imported, as scripts do."""

raise SystemExit(3)
