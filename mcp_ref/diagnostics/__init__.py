"""The messages of the package to its operators: log records, counts, and text that is safe to show.

`packagelog` makes the loggers, counts oddities and logs them rarely, and reports exceptions of handlers and callbacks;
`loghandlers` has the handler of last resort and a filter that masks secrets; `redaction` and `masking` mask secrets.
The functions here bring texts of peers into the forms in which a log or a terminal may show them.
"""

INDENT = "\n    "
"""The text before each line of a server's stderr that an error quotes, where it quotes several."""
_LONGEST_TEXT = 500


def escaped(text: str) -> str:
    """Return a text with what a terminal obeys or hides escaped, but for line ends and tabs.

    These are control characters, those that change the direction of writing, those without width, and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in "\n\t" else sign.encode("unicode_escape").decode("ascii")
                   for sign in text)


def one_line(text: str) -> str:
    """Return a text as one line of Unicode, cut after 500 characters, with `escaped` signs."""
    text = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "..."
    return escaped(" ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split()))
