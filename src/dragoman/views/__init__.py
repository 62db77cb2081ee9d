"""What people look at, between the canonical tree and a terminal or a page.

- ``portrait``  the turns of a conversation, with each call beside its result
- ``compare``   two conversations, by meaning
"""
