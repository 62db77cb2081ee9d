"""Measurements of dragoman, beside the cheapest thing that could be done with the same bytes."""
