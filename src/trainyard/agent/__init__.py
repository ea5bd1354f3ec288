"""Our process on a node: fetches code and environment, starts the processes, ships logs, metrics and files, and leaves
nothing behind. `guardian` is the warm process that forks agents on this machine."""
