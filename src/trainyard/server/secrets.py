"""Secrets at rest: encrypted with a key that only the owner of the home can read, so that a copy of the database alone
tells none of them. What was encrypted can be had back; what only has to be recognised is hashed instead (identity/)."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from trainyard.contract.errors import TrainyardError
from trainyard.server.settings import Settings

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

KEY_FILE = "secrets.key"


class SecretsLost(TrainyardError):
    code = "secrets.lost"


class Secrets:
    """Text to a token that may be stored, and back."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fernet: Fernet | None = None

    @staticmethod
    def of_home(settings: Settings) -> Secrets:
        return Secrets(settings.folder(KEY_FILE))

    def encrypt(self, text: str) -> str:
        return self._key().encrypt(text.encode()).decode("ascii")

    def decrypt(self, token: str) -> str:
        from cryptography.fernet import InvalidToken  # here: few homes have secrets, and all of them start

        try:
            return self._key().decrypt(token.encode("ascii")).decode()
        except InvalidToken as error:
            raise SecretsLost(
                f"A stored secret does not fit the key in {self._path}: one of the two is from another home. Put the "
                "key file of this database back, or enter the secret again."
            ) from error

    def _key(self) -> Fernet:
        """Made when it is first needed; of several who make it at once, one wins and all read that one."""
        if self._fernet is None:
            from cryptography.fernet import Fernet

            with contextlib.suppress(FileExistsError):
                self._make()
            os.chmod(self._path, 0o600)
            with open(self._path, "rb") as file:
                self._fernet = Fernet(file.read().strip())
        return self._fernet

    def _make(self) -> None:
        """Whole or not at all: a service that is killed while it writes must not leave half a key behind."""
        if os.path.exists(self._path):
            return
        from cryptography.fernet import Fernet

        aside = f"{self._path}.{os.getpid()}.new"
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(Fernet.generate_key())
            os.link(aside, self._path)
        finally:
            os.unlink(aside)
