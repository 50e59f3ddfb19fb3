"""The commands `explain` and `diff`, which look things up in the tables of the package.

`explain` has the first command and `facts` the second. `entries` are the answers as objects, `words` the texts and the
synonyms, `pages` the pages of the specification; `webpages` writes the entries as HTML.
"""
