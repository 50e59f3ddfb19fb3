"""The messages of the extensions, one module for each; their names are imported from the modules."""
