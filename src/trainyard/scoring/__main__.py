"""`python -m trainyard.scoring DESCRIPTOR FRONT`, started in the overlay's folder: the worker on that socket."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from trainyard.scoring.worker import main

    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
