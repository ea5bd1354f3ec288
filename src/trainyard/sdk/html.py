"""What a notebook shows for our objects: a one-row table. Every text is escaped; it may come from anyone."""

from __future__ import annotations

from html import escape


def link(address: str, text: str) -> str:
    return f'<a href="{escape(address)}" target="_blank" rel="noopener">{escape(text)}</a>'


def table(cells: dict[str, str | tuple[str, str]]) -> str:
    """Column name → text, or (text, address) for a link."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in cells)
    body = "".join(f"<td>{_cell(cell)}</td>" for cell in cells.values())
    return f'<table style="width:100%"><tr>{heads}</tr><tr>{body}</tr></table>'


def _cell(cell: str | tuple[str, str]) -> str:
    return escape(cell) if isinstance(cell, str) else link(cell[1], cell[0])
