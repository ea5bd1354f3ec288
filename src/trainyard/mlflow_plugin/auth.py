"""For plain `http://…` tracking addresses: MLFLOW_TRACKING_AUTH=trainyard adds our token to requests to our service.

A request header provider could not do this: MLflow asks it for headers without saying which server they are for.
"""

from __future__ import annotations

from collections.abc import Callable

from mlflow.tracking.request_auth.abstract_request_auth_provider import RequestAuthProvider
from requests import PreparedRequest

from trainyard.mlflow_plugin.access import token_for


class TokenAuth(RequestAuthProvider):
    def get_name(self) -> str:
        return "trainyard"

    def get_auth(self) -> Callable[[PreparedRequest], PreparedRequest]:
        return _authorized


def _authorized(request: PreparedRequest) -> PreparedRequest:
    token = token_for(request.url or "")
    if token is not None and "Authorization" not in request.headers:
        request.headers["Authorization"] = f"Bearer {token}"
    return request
