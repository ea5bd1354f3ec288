from __future__ import annotations


def said(output: str) -> list[str]:
    """What the helpers said."""
    return [line for line in output.splitlines() if line.startswith("trainyard: ")]
