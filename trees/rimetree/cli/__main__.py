"""`python -m rimetree.cli`."""

from . import main

main()
