"""The HTTP engine of 0.6.0, with which `tests.fuzz.http_trains` compares its successor."""
