"""The extensions: what only some sessions negotiate, or some operators need. The core loads none of it by itself.

=========  =========================================================================================================
`tasks`    calls that outlive their connection [2025-11-25 basic/utilities/tasks], and the extension of 2026-07-28
`skills`   folders of instructions that a server offers, and that hosts load on demand
`apps`     pages that a tool shows in its host
`stores`   sessions and tasks that several processes share: SQLite, or a store of your own
`auth`     grants without a person (client credentials, assertions), and DPoP
=========  =========================================================================================================

A program does not import them from here: ``Server(tasks=...)``, ``server.skills``, ``server.app``,
``server.run_http(sessions=...)``, ``client.skills()`` and `mcp_ref.auth` look them up.
"""
