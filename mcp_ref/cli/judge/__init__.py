"""The commands that record and judge the conversations of others."""
