"""``python -m dragoman`` is the command ``dragoman``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
