"""Tools: calls and their results in pairs, freeform tools, failed calls, schemas."""
