"""The passes of ``repair``: each repairs one kind of problem and records what it did in the ledger.

A pass takes a tree and returns the same tree if there is nothing to repair, so it may run twice.
Where messages move, spelling that depends on the old neighbours is removed (``resettle``): it
describes how a document was written, not what it means.
"""
