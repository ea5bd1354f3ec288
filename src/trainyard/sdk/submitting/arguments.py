"""Arguments and variables of a script as text, checked one by one before anything is queued."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from trainyard.contract.names import is_text
from trainyard.sdk.errors import UserErrorException


class DataArgument:
    """An argument that names data. Submitted, it becomes text that the node replaces by a path, and a line in the run
    configuration's `data_references`, `data` or `output_data`."""

    def _text_in_arguments(self) -> str:
        raise NotImplementedError

    def _named(self) -> tuple[str, str, Any]:
        """(which of the three, the name there, the line)."""
        raise NotImplementedError

    def __str__(self) -> str:
        return DataText(self)


class DataText(str, DataArgument):
    """Such an argument as text that still knows what it names: scripts pass `str(reference)`, and add the reference to
    no run configuration. Put into a longer text it is lost (see trainyard.sdk.runs.run_data)."""

    _of: DataArgument

    def __new__(cls, argument: DataArgument) -> DataText:
        made = super().__new__(cls, argument._text_in_arguments())
        made._of = argument
        return made

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)

    def _text_in_arguments(self) -> str:
        return str(self)

    def _named(self) -> tuple[str, str, Any]:
        return self._of._named()


def serialised(arguments: Iterable[Any] | None, what: str = "arguments") -> tuple[str, ...]:
    """All as text; those that name data must have been taken out."""
    return tuple(str(value) for value in checked_arguments(arguments, what))


def checked_arguments(arguments: Iterable[Any] | None, what: str = "arguments") -> tuple[str | DataArgument, ...]:
    """Each as text, and what names data as it is."""
    if arguments is None:
        return ()
    if isinstance(arguments, str | bytes | dict) or not isinstance(arguments, Iterable):
        raise UserErrorException(
            f"{what} must be a flat list such as ['--epochs', 3], not {type(arguments).__name__}. "
            "Put each option and each value in the list as an item of its own."
        )
    return tuple(_checked(value, at, what) for at, value in enumerate(arguments))


def checked_variables(variables: Any, what: str = "environment_variables") -> dict[str, str]:
    """Text to text, as a process can be given them."""
    if variables is None:
        return {}
    if not isinstance(variables, Mapping):
        raise UserErrorException(f"{what} must be a dict such as {{'KEY': 'value'}}, not {type(variables).__name__}.")
    checked = {str(name): passable(str(value), f"{what}[{name!r}]") for name, value in variables.items()}
    for name in checked:
        if not passable(name, f"A name in {what}") or "=" in name:
            raise UserErrorException(f"{name!r} cannot be the name of a variable: {what} are {{'NAME': 'value'}}.")
    return checked


def _checked(value: Any, at: int, what: str) -> str | DataArgument:
    if isinstance(value, DataArgument):
        return value
    if callable(as_mount := getattr(value, "as_mount", None)) and hasattr(value, "datastore_type"):
        mounted: DataArgument = as_mount()  # a datastore: all of it, as the SDK of 2018 took it
        return mounted
    if hasattr(value, "as_named_input"):
        raise UserErrorException(
            f"{what}[{at}] is a dataset. Say how the script gets it: dataset.as_mount(), dataset.as_download() or "
            "dataset.as_named_input('name')."
        )
    return _text(value, at, what)


def _text(value: Any, at: int, what: str) -> str:
    if isinstance(value, str):
        return passable(str(value), f"{what}[{at}]")
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, os.PathLike):
        return passable(os.fsdecode(value), f"{what}[{at}]")
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return _text(value.item(), at, what)
    if value is None:
        raise UserErrorException(f"{what}[{at}] is None. Leave the argument out, or write the text you want passed.")
    raise UserErrorException(
        f"{what}[{at}] is a {type(value).__module__}.{type(value).__qualname__}, which cannot be passed to a script. "
        "Pass text or a number, such as str(value)."
    )


def passable(text: str, what: str) -> str:
    """What a program can be given, and what can be sent to the service."""
    if "\0" in text:
        raise UserErrorException(f"{what} has a NUL character, which no program can be given. Remove it.")
    if not is_text(text):
        raise UserErrorException(f"{what} is {text!r}, which has bytes that are no text (UTF-8). Take them out.")
    return text
