"""The command line: one file per command, over the sdk. Each is imported only when it is called for."""
