"""Commands that look things up: `explain` and `diff`, over the tables of the package."""
