"""Bytes by content, and source directories kept that way. Standard library only, `pathspec` where ignore files are."""
