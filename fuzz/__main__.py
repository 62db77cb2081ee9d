import sys
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any

instrumented: Any = nullcontext()
if "--guided" in sys.argv and find_spec("atheris") is not None:
    import atheris

    instrumented = atheris.instrument_imports(include=["dragoman"])

with instrumented:  # what is loaded when first asked for is asked for now
    from dragoman import Transcoder, dialects

    from .run import main

    for _name in dialects.names():
        if "stream" in dialects.get(_name).facets():
            Transcoder(_name, _name)

sys.exit(main())
