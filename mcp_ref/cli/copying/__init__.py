"""The commands that copy the package, or `parts` of it: `vendor` into a program, `bundle` into one file with it.

`update` brings a copy to this version of the package; `loader` is the part of a bundle that imports its modules.
"""
