"""Folders of files as resources.

`directory` lists and reads the files that a pattern picks, and `safefiles` opens them so that no name and
no symbolic link leads out of the folder.
"""
