"""The commands `explain` and `diff`, which look things up in the tables of the package."""
