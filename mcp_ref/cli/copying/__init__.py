"""The command `vendor`, which copies the package, or `parts` of it, into another program."""
