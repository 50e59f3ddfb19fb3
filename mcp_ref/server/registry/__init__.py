"""The registration of tools, resources, prompts, completions, and vendors' methods with a server.

`registration` has the decorators. `listing` keeps what was registered, in pages. `checks` refuses
mistakes of authors at registration. `caching` has the hints for how long clients may keep answers.
"""
