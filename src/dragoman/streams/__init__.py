"""Streams: framing, events, readers and writers, and the transcoder that joins them."""
