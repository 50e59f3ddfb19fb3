"""Rules of the official extensions, a module for each."""
