"""The laws of the corpus, for dragoman's own tests and for dialects in other packages.

Each law is a function that raises ``AssertionError`` with a reason; ``laws/`` has them, file by
file. A corpus is a folder of cases; a case is a folder in which every file has exactly the same
meaning:

    tests/corpus/tool-call/
        case.toml                                  the title
        anthropic-messages.request.json            <dialect>.<facet>.json
        openai-chat.request.json
        openai-chat~legacy.request.json            another spelling: read, never written
        degraded.txt                               what is lost where, and what is written by
                                                   dialects that cannot express it (transcript.py)
"""

from .laws.broken import WRONG as WRONG
from .laws.broken import Place as Place
from .laws.broken import broken as broken
from .laws.broken import broken_once as broken_once
from .laws.broken import novel_places as novel_places
from .laws.cases import Case as Case
from .laws.cases import Document as Document
from .laws.cases import bodies as bodies
from .laws.cases import load_case as load_case
from .laws.cases import load_corpus as load_corpus
from .laws.cases import load_transcript as load_transcript
from .laws.cases import load_whole as load_whole
from .laws.difference import difference as difference
from .laws.difference import frames_difference as frames_difference
from .laws.documents import audit as audit
from .laws.documents import audit_everywhere as audit_everywhere
from .laws.documents import breaks_no_rule as breaks_no_rule
from .laws.documents import converted as converted
from .laws.documents import determinism as determinism
from .laws.documents import echoes as echoes
from .laws.documents import ends_in_a_call as ends_in_a_call
from .laws.documents import for_all as for_all
from .laws.documents import has_broken_arguments as has_broken_arguments
from .laws.documents import identity as identity
from .laws.documents import malformed_or_answer as malformed_or_answer
from .laws.documents import needs_a_model as needs_a_model
from .laws.documents import pair as pair
from .laws.documents import pointers as pointers
from .laws.documents import resolves as resolves
from .laws.documents import same as same
from .laws.documents import unrestored as unrestored
from .laws.streams import STRAY as STRAY
from .laws.streams import breaks_off as breaks_off
from .laws.streams import chunks_do_not_matter as chunks_do_not_matter
from .laws.streams import cut_alike as cut_alike
from .laws.streams import cuts_do_not_matter as cuts_do_not_matter
from .laws.streams import never_a_false_success as never_a_false_success
from .laws.streams import splicing_changes_nothing as splicing_changes_nothing
from .laws.streams import stream_and_back as stream_and_back
from .laws.streams import streaming_equals_batch as streaming_equals_batch
from .survey import is_lossy as is_lossy
from .survey import speaks as speaks
