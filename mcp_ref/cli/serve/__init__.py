"""The commands that serve: `run`, the server in a Python file, and `bridge`, a server behind another transport.

`run` serves in one process, `workers` in several. `loading` has what these share: the server of a file, a listener, and
the options about access; `logs` has their log.
"""
