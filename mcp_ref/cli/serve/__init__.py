"""The command `run`: serve the server in a Python file, in one process (`run`) or in several (`workers`)."""
