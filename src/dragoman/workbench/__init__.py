"""A local page: what a conversation says, what a conversion does to it, what a gateway passes on.

    page (web/, built into static/) ── HTTP, with a token ──> app ──> converting      documents
                                                                 ├──> conversations   as people read
                                                                 └──> traffic         of a gateway

The work is done by the library, so that the page and the command line say the same. It is reached
with a token or the key of an operator alone, and it fetches nothing from anywhere else.
"""
