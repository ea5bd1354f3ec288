"""How tables are read from files, as data: what a definition says, and the words users say it with."""

from __future__ import annotations

import codecs
from enum import Enum
from typing import TYPE_CHECKING, Any

from trainyard.sdk.errors import UserErrorException, sdk_errors

if TYPE_CHECKING:
    from trainyard.blobs.depots.resolve import Entry

_PARQUET = (b"PAR1", b"PARE")  # the second is an encrypted one

_ENCODINGS = {"utf8": "utf-8", "iso88591": "iso-8859-1", "latin1": "latin-1", "ascii": "ascii", "utf16": "utf-16"}
_ENCODINGS |= {"utf8bom": "utf-8-sig", "windows1252": "cp1252", "utf32": "utf-32"}


class PromoteHeadersBehavior(Enum):
    NO_HEADERS = 0
    ONLY_FIRST_FILE_HAS_HEADERS = 1
    COMBINE_ALL_FILES_HEADERS = 2
    ALL_FILES_HAVE_SAME_HEADERS = 3


class FileEncoding(Enum):
    UTF8 = 0
    ISO88591 = 1
    LATIN1 = 2
    ASCII = 3
    UTF16 = 4
    UTF32 = 5
    UTF8BOM = 6
    WINDOWS1252 = 7


class DataType:
    """What a column is read as: DataType.to_long(), DataType.to_datetime('%Y-%m-%d'), …"""

    def __init__(self, kind: str, formats: list[str] | None = None) -> None:
        self.kind, self.formats = kind, formats

    def __repr__(self) -> str:
        return f"DataType.to_{self.kind}({', '.join(map(repr, self.formats or ()))})"

    @staticmethod
    def to_string() -> DataType:
        return DataType("string")

    @staticmethod
    def to_long() -> DataType:
        return DataType("long")

    @staticmethod
    def to_float(decimal_mark: str = ".") -> DataType:
        return DataType("float", [decimal_mark])

    @staticmethod
    def to_bool() -> DataType:
        return DataType("bool")

    @staticmethod
    def to_datetime(formats: Any = None) -> DataType:
        said = [formats] if isinstance(formats, str) else formats
        return DataType("datetime", list(said) if said else None)

    @staticmethod
    def to_stream(workspace: Any = None, escaped: bool = False) -> DataType:
        del workspace, escaped
        raise UserErrorException("Columns of file streams are not supported. Read the path as text and open it.")


def delimited(
    *,
    include_path: bool = False,
    separator: str = ",",
    header: Any = True,
    types: dict[str, Any] | None = None,
    infer: bool = True,
    multi_line: bool = False,
    empty_as_string: bool = False,
    encoding: Any = "utf8",
) -> dict[str, Any]:
    if not isinstance(separator, str) or not separator:
        raise UserErrorException(f"separator is {separator!r}; give a text such as ',' or '\\t'.")
    return {
        "format": "delimited",
        "separator": separator,
        "header": _header(header),
        "infer": bool(infer),
        "multi_line": bool(multi_line),
        "empty_as_string": bool(empty_as_string),
        "encoding": _encoding(encoding),
        "include_path": bool(include_path),
        "types": column_types(types),
    }


def parquet(*, include_path: bool = False, types: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"format": "parquet", "include_path": bool(include_path), "types": column_types(types)}


def json_lines(
    *,
    include_path: bool = False,
    types: dict[str, Any] | None = None,
    invalid_lines: str = "error",
    encoding: Any = "utf8",
) -> dict[str, Any]:
    if invalid_lines not in ("error", "drop"):
        raise UserErrorException(f"invalid_lines is {invalid_lines!r}; use 'error' or 'drop'.")
    return {
        "format": "json_lines",
        "invalid_lines": invalid_lines,
        "encoding": _encoding(encoding),
        "include_path": bool(include_path),
        "types": column_types(types),
    }


def column_types(types: dict[str, Any] | None) -> dict[str, Any]:
    said = {}
    for name, kind in (types or {}).items():
        if not isinstance(kind, DataType):
            raise UserErrorException(
                f"set_column_types[{name!r}] is {kind!r}; give a DataType, such as DataType.to_long()."
            )
        said[str(name)] = {"kind": kind.kind, "formats": kind.formats}
    return said


def _header(header: Any) -> str:
    if isinstance(header, bool):
        return "ALL_FILES_HAVE_SAME_HEADERS" if header else "NO_HEADERS"
    name = getattr(header, "name", header)
    if name not in PromoteHeadersBehavior.__members__:
        raise UserErrorException(f"header is {header!r}; give True, False or a member of PromoteHeadersBehavior.")
    return str(name)


def _encoding(encoding: Any) -> str:
    name = str(getattr(encoding, "name", encoding))
    known = _ENCODINGS.get(name.lower().replace("-", "").replace("_", ""), name)
    try:
        codecs.lookup(known)
    except LookupError:
        raise UserErrorException(f"encoding {encoding!r} is not known. Use one such as 'utf8' or 'latin1'.") from None
    return known


def check_parquet(entry: Entry) -> None:
    """Said when the dataset is made, where otherwise the first reader of it would be told."""
    with sdk_errors():
        first = next(entry.depot.read(entry.file.path), b"")
    if first[:4] not in _PARQUET:
        raise UserErrorException(
            f"{entry.path} is not a Parquet file. Check the path; delimited text is read with from_delimited_files."
        )
