"""Conditions on columns and on what is known of files: `dataset['age'] > 30`, `dataset.file_metadata('Size') < 100`."""

from __future__ import annotations

import datetime
from typing import Any

from trainyard.sdk.errors import UserErrorException


class RecordFieldExpression:
    """Made by comparing; combined with `&`, `|` and `~`. `said` is what it is on the wire."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, said: list[Any]) -> None:
        self.said = said

    def __gt__(self, other: Any) -> RecordFieldExpression:
        return self._with("gt", other)

    def __ge__(self, other: Any) -> RecordFieldExpression:
        return self._with("ge", other)

    def __lt__(self, other: Any) -> RecordFieldExpression:
        return self._with("lt", other)

    def __le__(self, other: Any) -> RecordFieldExpression:
        return self._with("le", other)

    def __eq__(self, other: object) -> RecordFieldExpression:  # type: ignore[override]
        return self.is_null() if other is None else self._with("eq", other)

    def __ne__(self, other: object) -> RecordFieldExpression:  # type: ignore[override]
        return ~self.is_null() if other is None else self._with("ne", other)

    def __and__(self, other: Any) -> RecordFieldExpression:
        return self._with("and", other)

    def __or__(self, other: Any) -> RecordFieldExpression:
        return self._with("or", other)

    def __invert__(self) -> RecordFieldExpression:
        return RecordFieldExpression(["not", self.said])

    def contains(self, text: str) -> RecordFieldExpression:
        return self._with("contains", _text(text))

    def starts_with(self, text: str) -> RecordFieldExpression:
        return self._with("starts", _text(text))

    def ends_with(self, text: str) -> RecordFieldExpression:
        return self._with("ends", _text(text))

    def is_null(self) -> RecordFieldExpression:
        return RecordFieldExpression(["null", self.said])

    def __bool__(self) -> bool:
        raise UserErrorException("Combine conditions with & | ~ and parentheses, not with and, or, not.")

    def _with(self, operation: str, other: Any) -> RecordFieldExpression:
        return RecordFieldExpression([operation, self.said, _plain(other)])


def wire_of(expression: Any) -> list[Any]:
    if not isinstance(expression, RecordFieldExpression):
        raise UserErrorException(
            f"filter takes a condition such as dataset['age'] > 30, not a {type(expression).__name__}."
        )
    return expression.said


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise UserErrorException(f"What is looked for in a column is text, not {text!r}. Write it in quotes.")
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, RecordFieldExpression):
        return value.said
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)  # as columns are kept
    if isinstance(value, datetime.datetime | datetime.date):
        return ["time", value.isoformat()]
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return value.item()
    if isinstance(value, bool | int | float | str):
        return value
    raise UserErrorException(f"A condition compares with numbers, text and times, not with a {type(value).__name__}.")
