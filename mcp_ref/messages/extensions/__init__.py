"""The messages of the extensions, one module for each; their names are imported from the modules.

`frontmatter` reads what stands at the beginning of the texts of skills.
"""
