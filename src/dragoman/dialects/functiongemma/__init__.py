"""FunctionGemma, the official text form: ``{"text": "<bos><start_of_turn>developer ..."}``.

What it does differently from its neighbours: a whole conversation is one text, as the chat template
of the model prints it; the system prompt, a fixed sentence and the declarations are the turn of the
developer; calls, the responses to them and the reply share one turn of the model; only strings
stand between ``<escape>``, and nothing can be quoted, so control tokens in a text are broken; calls
have no ids and pair with their responses by name and order; there is no place for reasoning,
media, or anything that is written about a request. A conversation that ends in the user's turn ends
in the prompt for the model; one that ends in a call, in the token that asks for the response.
"""

from __future__ import annotations

from ...ledger import Ledger
from ...model import Json, Tree
from .._gemma import Gemma
from . import declarations, reading, writing
from . import sniff as signs


class FunctionGemma(Gemma):
    name = "functiongemma"
    spec = "https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices"
    history = None  # the whole conversation is one text
    model_key = ""  # and names no model
    kin = frozenset({"functiongemma", "functiongemma-nobos"})
    bos = "<bos>"

    sniff = signs.sniff
    read_tools = declarations.read_tools
    write_tools = declarations.write_tools
    read_request = reading.read_request
    read_messages = reading.read_messages
    read_response = reading.read_response
    write_request = writing.write_request
    write_messages = writing.write_messages
    write_response = writing.write_response

    def write(self, tree: Tree, log: Ledger) -> Json:
        out = super().write(tree, log)
        if tree.original is None or out is tree.original.doc or not self.is_same(tree.dialect):
            return out
        return writing.as_record(tree.original.doc, out)


DIALECT = FunctionGemma()
