"""Azure's ways to log in. They are accepted, and each says that there is nothing to log in to: a service on this
machine knows its owner, another one is told who you are by TRAINYARD_TOKEN."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.effects import tell_once


class AbstractAuthentication:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs  # a password that is not needed is not kept
        tell_once(
            f"{type(self).__name__} has no effect with Trainyard: the service on this machine knows you, and "
            "another one reads TRAINYARD_TOKEN."
        )

    def get_authentication_header(self) -> dict[str, str]:
        return {}


class InteractiveLoginAuthentication(AbstractAuthentication):
    pass


class ServicePrincipalAuthentication(AbstractAuthentication):
    pass


class MsiAuthentication(AbstractAuthentication):
    pass


class AzureCliAuthentication(AbstractAuthentication):
    pass


class TokenAuthentication(AbstractAuthentication):
    pass
