"""The messages of the extensions, one module for each; their names are imported from the modules.

`yaml` reads the front matter of skills, and the configuration files of hosts.
"""
