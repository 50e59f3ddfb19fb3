"""The rules of the protocol, without input or output: functions and tables that know no sockets, threads or clocks.

Reading order:

==================  ===============================================================================================
module              rules
==================  ===============================================================================================
`lifecycle`         the revisions that a party speaks, the agreement of the handshake, and the signs by which a
                    client tells a server of the stateless era from one with a handshake; what may be sent in which
                    phase; the capability that a message needs, and of whom
`envelope`          what each request carries where there is no handshake
`metakeys`          the names of `_meta` members; the three that carry a distributed trace, and the one of a tool that
                    describes its page
`results`           the answers that may be kept, their keys and their times; priorities in annotations
`requeststate`      the signed state that travels between the rounds of a request
`uris`              the syntax of URIs, their normal form, and what lies below one; ``file://`` URIs of roots
`content`           content blocks, annotations, icons, MIME types
`sampling`          sampling requests and their results
`elicitation`       forms, and the answers to them; the check of URLs that a user is asked to visit
`extensions`        names, entries and digests of skills; tasks of both generations: names, states, methods
`streamable_http/`  the rules of HTTP: order of refusals, header fields, server-sent events
==================  ===============================================================================================
"""
