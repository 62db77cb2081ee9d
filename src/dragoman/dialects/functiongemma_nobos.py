"""FunctionGemma without ``<bos>``, for trainers whose tokenizer adds its own."""

from .functiongemma import FunctionGemma


class FunctionGemmaNobos(FunctionGemma):
    name = "functiongemma-nobos"
    bos = ""


DIALECT = FunctionGemmaNobos()
