"""The rules of the protocol, without input or output: functions and tables that know no sockets, threads or clocks.

Reading order:

==================  ===============================================================================================
module              rules
==================  ===============================================================================================
`negotiation`       the revisions that a party speaks, the agreement of the handshake, and the signs by which a
                    client tells a server of the stateless era from one with a handshake
`lifecycle`         what may be sent in which phase of a handshake connection: a table
`envelope`          what each request carries where there is no handshake
`capabilities`      the capability that a message needs, and of whom
`metakeys`          the names of `_meta` members
`tracecontext`      the three members of `_meta` that carry a distributed trace
`caching`           the answers that may be kept, their keys and their times
`requeststate`      the signed state that travels between the rounds of a request
`uris`              the syntax of URIs, their normal form, and what lies below one
`content`           content blocks, annotations, icons, MIME types
`items`             priorities in annotations
`roots`             ``file://`` URIs of roots, and what lies below them
`sampling`          sampling requests and their results
`elicitation`       forms, and the answers to them
`skills`            names, entries and digests of skills, and the methods of their extension
`apps`              what the `_meta` of a tool says of its page
`tasks`             tasks of both generations: names, states, the methods of the extension
`safe_urls`         the check of URLs that a user is asked to visit
`streamable_http/`  the rules of HTTP: order of refusals, header fields, server-sent events
==================  ===============================================================================================
"""
