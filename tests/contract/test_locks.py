import fcntl

import pytest

from trainyard.contract.locks import is_locked, locked


def test_a_lock_is_seen_while_it_is_held(tmp_path) -> None:
    path = str(tmp_path / "lock")
    assert not is_locked(path)  # nobody has made it yet
    with locked(path):
        assert is_locked(path)
        with pytest.raises(BlockingIOError), locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            pass
    assert not is_locked(path)


def test_one_who_asks_does_not_look_like_a_holder(tmp_path) -> None:
    path = str(tmp_path / "lock")
    with locked(path, fcntl.LOCK_SH):  # as somebody does who asks at the same moment
        assert not is_locked(path)
