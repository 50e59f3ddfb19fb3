"""Texts of peers as a log or a terminal may show them."""

INDENT = "\n    "
"""What stands before each line of a server's stderr that an error quotes, where it quotes several."""


def escaped(text: str) -> str:
    """Return a text with what a terminal obeys or hides escaped, but for line ends and tabs.

    These are control characters, those that change the direction of writing, those without width, and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in "\n\t" else sign.encode("unicode_escape").decode("ascii")
                   for sign in text)
