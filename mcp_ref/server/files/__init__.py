"""Folders of files as resources.

`directory` lists and reads them, `pathpattern` picks files by pattern, and `safefiles` opens them so that no name and
no symbolic link leads out of the folder.
"""
