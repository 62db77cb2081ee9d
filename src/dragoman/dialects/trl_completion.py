"""TRL's ``prompt`` and ``completion``: of each conversation the last reply is learned."""

from .trl import Trl


class TrlCompletion(Trl):
    name = "trl-completion"
    splits = True


DIALECT = TrlCompletion()
