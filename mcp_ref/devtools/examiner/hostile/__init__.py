"""Robustness: what a server does with input that no client should send. Asked for by ``--hostile``, and apart from the
scenes: most of it breaks no clause of the specification, so the findings are called fragile, and never broken.

========================  =========================================================================================
attack                    what is sent
========================  =========================================================================================
``hostile-cut``           a request, cut at each position
``hostile-syntax``        texts that are no JSON, or odd, as a value, as the id and as the whole message
``hostile-doubled``       requests with a member twice
``hostile-lines``         line ends, byte order marks, other encodings, several messages on one line
``hostile-deep``          arrays and objects in each other
``hostile-long``          long strings, keys, numbers, lists, ids
``hostile-types``         each request with each member of another type, or without it
``hostile-mutations``     requests with random changes; a seed and a number repeat each
``hostile-flood``         many messages, bytes and connections at once, within the bounds below
``hostile-heads``         HTTP: request lines and header fields that are not allowed
``hostile-chunks``        HTTP: bodies in chunks that are none
``hostile-cuts``          HTTP: requests that end early, or come slowly
========================  =========================================================================================

After each input an ordinary request has to be answered (alive). What is no request must not get a result, an error has
to have a code and a message, and HTTP no status of the server's own failure (answered). After each attack memory and
descriptors have to be back (back), which can be told of processes that were started here, on Linux.

========  ==========================================================================================================
module    what it has
========  ==========================================================================================================
`texts`   frames made by rule and by hand; legal traffic, and mutations of it
`heads`   HTTP requests as bytes
`trial`   the attacks, one after the other, and what comes of them; what a process holds
`told`    the part of the report
========  ==========================================================================================================
"""

FRAGILE = "fragile"
"""The level of what is found here."""
SECONDS = 60.0
"""The time for hostile input, in all revisions: what has not been sent by then is not sent."""
ATTACKS = tuple("hostile-" + name for name in (
    "cut", "syntax", "doubled", "lines", "deep", "long", "types", "mutations", "heads", "chunks", "cuts", "flood"))
"""The names of the attacks, in their order."""
