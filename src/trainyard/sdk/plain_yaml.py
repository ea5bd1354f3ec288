"""The YAML that conda files and .runconfig files are written in: maps, lists, scalars, block text and comments.

Jobs have the standard library alone, so this is ours. Anchors, tags and several documents are refused with the line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any


class YamlError(ValueError):
    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line


@dataclass(frozen=True)
class _Line:
    number: int
    indent: int
    text: str


def loads(text: str) -> Any:
    """The value a document holds (None for an empty one)."""
    reader = _Reader(text)
    if not reader.more:
        return None
    value = reader.block(reader.line.indent)
    reader.end()
    return value


def dumps(value: Any) -> str:
    """Block style, keys in their order, text quoted where it could be taken for something else."""
    return "\n".join(_written(value, 0)) + "\n"


class Comments:
    """The comments of a document, each by the line that follows it, so that they can be put into its next version."""

    def __init__(self, above: dict[str, list[str]] | None = None, last: list[str] | None = None) -> None:
        self._above, self._last = above or {}, last or []

    @staticmethod
    def of(text: str) -> Comments:
        above: dict[str, list[str]] = {}
        waiting: list[str] = []
        for raw in text.splitlines():
            if raw.strip().startswith("#"):
                waiting.append(raw.strip())
            elif raw.strip():
                if waiting:
                    above.setdefault(_anchor(raw), waiting)
                waiting = []
        return Comments(above, waiting)

    def put_into(self, text: str) -> str:
        lines: list[str] = []
        left = dict(self._above)
        for line in text.splitlines():
            pad = line[: len(line) - len(line.lstrip())]
            lines += [f"{pad}{comment}" for comment in left.pop(_anchor(line), [])]
            lines.append(line)
        return "\n".join([*lines, *self._last]) + "\n"


def _anchor(line: str) -> str:
    """What a line keeps when its value changes: its key, or the name of the package in a list."""
    return re.split(r"[=<>!~:\[ ]", line.strip().removeprefix("- "), maxsplit=1)[0].lower()


_KEY = re.compile(
    r"""((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"\[\]{},#&*!|>%@`-][^#]*?|-[^\s#][^#]*?))\s*:(?:\s+|$)"""
)
_INT, _FLOAT = re.compile(r"[-+]?\d+"), re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?")
_NULLS, _TRUE, _FALSE = ("", "~", "null", "Null", "NULL"), ("true", "True", "TRUE"), ("false", "False", "FALSE")
_BLOCK = re.compile(r"([|>])([+-]?)")


class _Reader:
    def __init__(self, text: str) -> None:
        self._raw = text.expandtabs(8).splitlines()
        self._at = 0
        self._pending: _Line | None = None
        self._skip()

    @property
    def more(self) -> bool:
        return self._pending is not None

    @property
    def line(self) -> _Line:
        assert self._pending is not None
        return self._pending

    def end(self) -> None:
        if self.more:
            raise YamlError(self.line.number, f"{self.line.text!r} is not indented like what is above it")

    def block(self, indent: int) -> Any:
        line = self.line
        if line.text == "-" or line.text.startswith("- "):
            return self._list(indent)
        if _KEY.match(line.text):
            return self._map(indent)
        self._skip()
        return _scalar(line.text, line.number)

    def _list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        while self.more and self.line.indent == indent and (self.line.text == "-" or self.line.text.startswith("- ")):
            line = self.line
            rest = line.text[1:].lstrip()
            if not rest:
                self._skip()
                found.append(self.block(self.line.indent) if self.more and self.line.indent > indent else None)
            elif rest.startswith("- ") or (_KEY.match(rest) and rest[0] not in "[{"):
                inner = indent + len(line.text) - len(rest)  # `- key: value` opens a map at the key's column
                self._pending = _Line(line.number, inner, rest)
                found.append(self.block(inner))
            else:
                found.append(self._value(rest, line))
        return found

    def _map(self, indent: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.more and self.line.indent == indent and (key := _KEY.match(self.line.text)):
            line = self.line
            name, rest = str(_scalar(key[1], line.number, text_only=True)), line.text[key.end() :]
            if name in found:
                raise YamlError(line.number, f"the key {name!r} is there twice")
            if rest:
                found[name] = self._value(rest, line)
                continue
            self._skip()
            deeper = self.more and (self.line.indent > indent or (self.line.indent == indent and self._at_item()))
            found[name] = self.block(self.line.indent) if deeper else None
        if self.more and self.line.indent >= indent and not (self.line.indent == indent and self._at_item()):
            raise YamlError(self.line.number, f"{self.line.text!r} is not `key: value`")
        return found

    def _at_item(self) -> bool:
        return self.line.text == "-" or self.line.text.startswith("- ")

    def _value(self, text: str, line: _Line) -> Any:
        if block := _BLOCK.fullmatch(text):
            return self._text(line.indent, folded=block[1] == ">", keep=block[2])
        self._skip()
        return _scalar(text, line.number)

    def _text(self, indent: int, *, folded: bool, keep: str) -> str:
        lines: list[str] = []
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            if raw.strip() and len(raw) - len(raw.lstrip()) <= indent:
                break
            lines.append(raw)
            self._at += 1
        margin = min((len(raw) - len(raw.lstrip()) for raw in lines if raw.strip()), default=0)
        body = (" " if folded else "\n").join(raw[margin:] for raw in lines).rstrip("\n ")
        self._skip()
        return body if keep == "-" or not body else body + "\n"

    def _skip(self) -> None:
        """On to the next line that says something."""
        self._pending = None
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            self._at += 1
            text = _without_comment(raw).rstrip()
            if not text.strip() or text.strip() in ("---", "...") or raw.startswith("%"):
                continue
            self._pending = _Line(self._at, len(text) - len(text.lstrip()), text.strip())
            return


def _without_comment(raw: str) -> str:
    quote = ""
    for at, char in enumerate(raw):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and (at == 0 or raw[at - 1] in " \t[{,:-"):
            quote = char
        elif char == "#" and (at == 0 or raw[at - 1] in " \t"):
            return raw[:at]
    return raw


def _scalar(text: str, line: int, *, text_only: bool = False) -> Any:
    text = text.strip()
    if text[:1] in ("[", "{"):
        value, rest = _flow(text, line)
        if rest.strip():
            raise YamlError(line, f"{rest.strip()!r} follows a closed bracket")
        return value
    if text[:1] in ("'", '"'):
        return _quoted(text, line)
    if text[:1] in ("&", "*", "!", "@", "`"):
        raise YamlError(line, f"{text!r}: anchors, aliases and tags are not read here; write the value out")
    return text if text_only else _plain(text)


def _plain(text: str) -> Any:
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _quoted(text: str, line: int) -> str:
    if len(text) < 2 or text[-1] != text[0]:
        raise YamlError(line, f"the quote of {text!r} is not closed")
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text))
    except ValueError as error:
        raise YamlError(line, f"{text} has an escape that is not read here") from error


def _flow(text: str, line: int) -> tuple[Any, str]:
    """A `[...]` or `{...}` at the beginning of `text`, and what follows it."""
    is_map = text[0] == "{"
    close = "}" if is_map else "]"
    items: list[Any] = []
    pairs: dict[str, Any] = {}
    text = text[1:].lstrip()
    while not text.startswith(close):
        key = None
        if is_map:
            key, found, text = text.partition(":")
            if not found:
                raise YamlError(line, f"{key!r} has no value")
        value, text = _flow_item(text.lstrip(), close, line)
        if key is not None:
            pairs[str(_scalar(key, line, text_only=True))] = value
        else:
            items.append(value)
        if text.startswith(","):
            text = text[1:].lstrip()
        elif not text.startswith(close):
            raise YamlError(line, f"a bracket is not closed with {close!r} on its line")
    return (pairs if is_map else items), text[1:]


def _flow_item(text: str, close: str, line: int) -> tuple[Any, str]:
    if text[:1] in ("[", "{"):
        value, rest = _flow(text, line)
        return value, rest.lstrip()
    if text[:1] in ("'", '"'):
        end = re.match(r'"(?:[^"\\]|\\.)*"' if text[0] == '"' else r"'(?:[^']|'')*'", text)
        if end is None:
            raise YamlError(line, f"the quote of {text!r} is not closed")
        return _quoted(end[0], line), text[end.end() :].lstrip()
    at = min((place for place in (text.find(","), text.find(close)) if place >= 0), default=len(text))
    return _scalar(text[:at], line), text[at:].lstrip()


def _written(value: Any, indent: int) -> list[str]:
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines: list[str] = []
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                lines += [
                    f"{pad}{_written_scalar(key)}:",
                    *_written(item, indent + (2 if isinstance(item, dict) else 0)),
                ]
            else:
                lines.append(f"{pad}{_written_scalar(key)}: {_written_scalar(item)}")
        return lines
    if isinstance(value, list) and value:
        lines = []
        for item in value:
            inner = _written(item, indent + 2)
            lines += [f"{pad}- {inner[0].lstrip()}", *inner[1:]]
        return lines
    return [pad + _written_scalar(value)]


def _written_scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    plain = (
        text == text.strip()
        and _plain(text) == text
        and isinstance(_plain(text), str)
        and not re.search(r"^[?:,\[\]{}#&*!|>'\"%@`]|^-(\s|$)|^---$|^\.\.\.|: |:$| #|[\x00-\x1f]", text)
    )
    return text if plain else json.dumps(text, ensure_ascii=False)
