"""The conversation: request table, work in flight, workers, dispatcher, context."""
