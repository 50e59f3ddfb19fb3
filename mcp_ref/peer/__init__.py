"""The conversation: what both roles do with messages, whichever transport carries them.

===================================  =======================================================================
modules                              what they are
===================================  =======================================================================
`session`                            what was agreed with the peer
`role`                               what a server or a client adds; pings; requests without a session (2026-07-28)
`request_table`, `future`            requests of ours that wait for an answer
`inflight`, `jobs`                   requests of the peer that are being worked on
`dispatcher`, `sender`               a connection: takes messages and routes them; sends
`context`                            the object that a handler gets, and its params; its exceptions, logged
`outbox`, `routing`                  messages on their way out; each its own way
`executors`, `main_thread`           which thread runs a handler
`extension`                          methods and rules that an author adds, negotiated or not
===================================  =======================================================================
"""
