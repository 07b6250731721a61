"""Its place puts this folder on the path of every test: ``import oracles`` works from below."""
