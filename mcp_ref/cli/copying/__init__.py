"""The commands that copy the package, or `parts` of it: `vendor` into a program, `bundle` into one file with it."""
