"""Azure's ways to log in: accepted, and said to have no effect."""

from __future__ import annotations

import pytest

from azureml.core.authentication import Audience, InteractiveLoginAuthentication, TokenAuthentication
from azureml.exceptions import AuthenticationException
from trainyard.sdk import effects


def test_a_login_says_that_there_is_nothing_to_log_in_to(monkeypatch):
    monkeypatch.setattr(effects, "_told", set())
    with pytest.warns(UserWarning, match="InteractiveLoginAuthentication has no effect"):
        made = InteractiveLoginAuthentication(tenant_id="t", force=True)
    assert made.get_authentication_header() == {}


def test_tokens_come_from_the_function_that_was_given(monkeypatch):
    monkeypatch.setattr(effects, "_told", set())
    with pytest.warns(UserWarning, match="TokenAuthentication has no effect"):
        made = TokenAuthentication(lambda audience: f"for {audience}")
    assert (made.get_token(Audience.arm), made.get_token(Audience.aml)) == ("for ARM", "for AML")
    with pytest.raises(AuthenticationException, match="needs an Audience"):
        made.get_token("ARM")
