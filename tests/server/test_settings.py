import pytest

from trainyard.contract.errors import InvalidRequest, ServiceUnavailable
from trainyard.server.db import Database
from trainyard.server.settings import Settings


def settings(**variables: str) -> Settings:
    return Settings.from_env(variables, "/home/ada/.trainyard", None, None, stay=False)


def test_numbers_are_read_once() -> None:
    read = settings(TRAINYARD_PORT="8500", TRAINYARD_IDLE_STOP="60", TRAINYARD_ENVIRONMENTS_GB="0.5")
    assert (read.port, read.idle_stop_s, read.environments_limit) == (8500, 60, 536_870_912)
    unset = settings(TRAINYARD_PORT="")
    assert (unset.port, unset.idle_stop_s, unset.environments_limit) == (None, 1800, 53_687_091_200)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TRAINYARD_PORT", "abc", "TRAINYARD_PORT is 'abc' and must be a whole number"),
        ("TRAINYARD_PORT", "99999", "The port is 99999; choose one from 1 to 65535"),
        ("TRAINYARD_IDLE_STOP", "1.5", "TRAINYARD_IDLE_STOP is '1.5' and must be a whole number"),
        ("TRAINYARD_INDEX_TIMEOUT", "soon", "TRAINYARD_INDEX_TIMEOUT is 'soon' and must be a whole number"),
        ("TRAINYARD_ENVIRONMENTS_GB", "much", "TRAINYARD_ENVIRONMENTS_GB is 'much' and must be a number"),
    ],
)
def test_what_is_no_number_is_refused_by_name(name: str, value: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        settings(**{name: value})


def test_a_database_that_cannot_be_used_is_refused_without_its_password() -> None:
    with pytest.raises(ServiceUnavailable, match="TRAINYARD_DATABASE") as refused:
        Database("bogus://ada:hunter2@host/name")
    assert "hunter2" not in refused.value.message
