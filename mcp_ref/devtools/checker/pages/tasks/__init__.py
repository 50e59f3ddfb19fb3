"""Rules of the tasks of 2025-11-25, a module for each part of their page."""
