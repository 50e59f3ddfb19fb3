"""The rules of messages, the conversation and what both parties do."""
