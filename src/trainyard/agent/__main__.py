"""`python -m trainyard.agent`: one agent; its order is a JSON line on standard input."""

from __future__ import annotations

import os
import sys

from trainyard.agent.life import main

if __name__ == "__main__":
    code = main(sys.stdin.readline())
    sys.stdout.flush()
    os._exit(code)  # nothing is left to wind up, and a thread in a long request would only delay us
