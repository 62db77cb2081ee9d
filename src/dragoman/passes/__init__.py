"""The passes of ``repair``: each mends one thing in a conversation, and notes what it did.

A pass takes a tree and gives the same tree if there is nothing to mend, so that it may run twice.
Where messages move, spelling that spoke of the old neighbours is forgotten (``resettle``): it says
how a document was written, not what it means.
"""
