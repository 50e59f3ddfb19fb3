"""The stores of what several processes share, or what survives a restart: sessions over HTTP, and tasks.

The reading order: `tasks` (records of tasks, the part of the contract that is about them, `MemoryTasks`), `store`
(`Store`, the whole contract), `sqlite` (`SqliteStore`), `contract` (the test of the contract, for the authors of other
stores).
"""
