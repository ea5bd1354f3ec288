"""The OpenAPI documents of a service, made from what inference-schema knows about run()."""

from __future__ import annotations

import json
import os
from typing import Any, Callable

_ANYTHING: dict[str, Any] = {"type": "object", "example": {}}


def is_decorated(run: Callable[..., Any]) -> bool:
    found = _schema_util()
    return bool(found and found.is_schema_decorated(run))


def documents(service: str, run: Callable[..., Any], folder: str) -> dict[str, Any]:
    """By version, "2" and "3". A file swagger.json (swagger2.json, swagger3.json) of the user's own goes first."""
    (given, answered), versions = _schemas(run)
    found = {}
    if "2.0" in versions:
        found["2"] = swagger_2(service, given, answered)
    if "3.0" in versions:
        found["3"] = swagger_3(service, given, answered)
    for version, names in (("2", ("swagger2.json", "swagger.json")), ("3", ("swagger3.json",))):
        for name in names:
            own = _own(os.path.join(folder, name))
            if own is not None:
                found[version] = own
    return found


def _own(path: str) -> Any | None:
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _schema_util() -> Any:
    """inference-schema's part that reads its decorators; only there when the script imported it."""
    try:
        from inference_schema import schema_util
    except ImportError:
        return None
    return schema_util


def _schemas(run: Callable[..., Any]) -> tuple[tuple[Any, Any], tuple[str, ...]]:
    util = _schema_util()
    if util is None or not util.is_schema_decorated(run):
        return (_ANYTHING, _ANYTHING), ("2.0", "3.0")
    versions = getattr(util, "get_supported_versions", lambda _: ["2.0"])(run)
    return (util.get_input_schema(run), util.get_output_schema(run)), tuple(versions)


def swagger_2(service: str, given: Any, answered: Any) -> dict[str, Any]:
    body = {
        "name": "serviceInputPayload",
        "in": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/ServiceInput"},
    }
    answers = {
        "200": {"description": "What run() gave back.", "schema": {"$ref": "#/definitions/ServiceOutput"}},
        "default": {"description": "An error.", "schema": {"$ref": "#/definitions/ErrorResponse"}},
    }
    return {
        "swagger": "2.0",
        "info": {"title": service, "version": "1.0", "description": f"The web service {service}"},
        "schemes": ["http", "https"],
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "securityDefinitions": {"Bearer": {"type": "apiKey", "name": "Authorization", "in": "header"}},
        "paths": {
            "/": {"get": {"operationId": "ServiceHealthCheck", "responses": {"200": {"description": "Healthy"}}}},
            "/score": {
                "post": {
                    "operationId": "RunMLService",
                    "description": "Run the model on the given input",
                    "security": [{"Bearer": []}],
                    "parameters": [body],
                    "responses": answers,
                }
            },
        },
        "definitions": {
            "ServiceInput": given,
            "ServiceOutput": answered,
            "ErrorResponse": {"type": "object", "properties": {"message": {"type": "string"}}},
        },
    }


def swagger_3(service: str, given: Any, answered: Any) -> dict[str, Any]:
    def content(name: str) -> dict[str, Any]:
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}

    answers = {
        "200": {"description": "What run() gave back.", "content": content("ServiceOutput")},
        "default": {"description": "An error.", "content": content("ErrorResponse")},
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": service, "version": "1.0", "description": f"The web service {service}"},
        "paths": {
            "/": {"get": {"operationId": "ServiceHealthCheck", "responses": {"200": {"description": "Healthy"}}}},
            "/score": {
                "post": {
                    "operationId": "RunMLService",
                    "description": "Run the model on the given input",
                    "security": [{"Bearer": []}],
                    "requestBody": {"required": True, "content": content("ServiceInput")},
                    "responses": answers,
                }
            },
        },
        "components": {
            "securitySchemes": {"Bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "ServiceInput": given,
                "ServiceOutput": answered,
                "ErrorResponse": {"type": "object", "properties": {"message": {"type": "string"}}},
            },
        },
    }
