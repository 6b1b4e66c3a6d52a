"""`python -m normviz` is the command `normviz`."""

import sys

from normviz.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
