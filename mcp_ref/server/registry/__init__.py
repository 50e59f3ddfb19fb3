"""The registration of tools, resources, prompts, completions, and vendors' methods with a server.

`registration` has the decorators. `listing` keeps what was registered, in pages. `checks` refuses
mistakes of authors at registration. `caching` has the hints for how long clients may keep answers.
`around` has the hooks around every request, `visibility` the members that only some clients see.

`directory` is a folder of files as resources: it lists and reads the files that a pattern picks. `safefiles` opens them
so that no name and no symbolic link leads out of the folder. A folder with
skills in it is `mcp_ref.ext.skills.server`.
"""
