"""What authors register with a server: tools, resources, prompts, completions, and methods of their own.

`registration` has the decorators, `listing` keeps what was registered and pages through it, `checks` and `tool_checks`
refuse mistakes at once, `caching` says how long clients may keep answers, `vendor_methods` are methods that the
specification does not have.
"""
