"""The page that shows a session, recorded or going on: one HTML file, without a framework and without a network.

::

    record = SessionRecord()
    for event in events:
        record.take(event)
    text = page(record.document("my session", findings))

===================  ===============================================================================================
module               what it has
===================  ===============================================================================================
`record`             a session as the page reads it: the steps of `mcp_ref.devtools.ladder`, the bytes of messages,
                     findings; and the page with the session inside, and what a browser may do with it
`live`               a session that goes on, told piece by piece to a page that has the token
``page.html``        the markup
``page.css``         the style: light and dark, 360 to 2,560 pixels
``json.js``          JSON as text: nothing is parsed into numbers, so nothing is lost
``session.js``       the session, and which of its steps a filter lets through
``ladder.js``        the drawing; only the rows that are seen are there
``details.js``       one message: its members and what they mean, its bytes, its HTTP exchange, its findings
``page.js``          what ties these together: keys, buttons, the search
``start.js``         the beginning
``wire.js``          live: what is sent to the server of the page, and what comes from it
``form.js``          live: forms from a schema, beside an editor of the JSON text that they make
``panel.js``         live: connections, and the lists of a server
``calls.js``         live: requests, their progress and what came of them
``questions.js``     live: what a server asks, and a person answers
``compare.js``       live: two servers, or two revisions of one, side by side
``live.js``          live: what ties those together
===================  ===============================================================================================

All text of peers reaches the page as text nodes. `record.page` forbids everything else: no address is asked for
anything, and no script runs but those of the page, which are named by their digests (``Content-Security-Policy``).
"""

from .record import SessionRecord, page

__all__ = ["SessionRecord", "page"]
