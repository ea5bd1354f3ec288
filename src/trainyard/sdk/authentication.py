"""Azure's ways to log in. They are accepted, and each says that there is nothing to log in to: a service on this
machine knows its owner, another one is told who you are by TRAINYARD_TOKEN."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from trainyard.sdk.effects import tell_once
from trainyard.sdk.errors import AuthenticationException


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


class Audience(Enum):
    """Whom a token of Azure's is for."""

    arm = "ARM"
    aml = "AML"


class TokenAuthentication(AbstractAuthentication):
    def __init__(self, get_token_for_audience: Callable[[Any], Any] | None = None, cloud: str = "AzureCloud") -> None:
        super().__init__(cloud=cloud)
        self._get_token_for_audience = get_token_for_audience

    def get_token(self, audience: Audience) -> Any:
        """What the function that was given answers for the audience: for scripts that call services of their own."""
        if self._get_token_for_audience is None or not isinstance(audience, Audience):
            raise AuthenticationException(
                "get_token needs an Audience and a TokenAuthentication with get_token_for_audience. Give both, or "
                "leave it out: Trainyard asks for no token of Azure's."
            )
        return self._get_token_for_audience(audience.value)
