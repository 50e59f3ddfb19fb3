"""The command `vendor`: copy the package, or `parts` of it, into another program."""
