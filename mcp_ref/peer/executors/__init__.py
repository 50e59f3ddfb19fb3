"""Executors: who runs a handler.

`workers` says which there are, and has the default one; `caller_runs` runs handlers on the thread that brought the
request, `main_thread` on a thread of the program's choice.
"""
