"""`python -m harness` is the `kata` command."""

import sys

from harness.cli import main

sys.exit(main())
