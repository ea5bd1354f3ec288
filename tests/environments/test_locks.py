from __future__ import annotations

from trainyard.environments.locks import Lock

TEXT = """\
# Trainyard environment lock 1
# python 3.11.7
# platform linux-x86_64
# conda https://host/noarch/a-1.0-0.conda aa
# built horovod==0.28.1
six==1.17.0 \\
    --hash=sha256:bb
"""


def test_a_lock_is_written_and_read() -> None:
    lock = Lock(
        python="3.11.7",
        platform="linux-x86_64",
        conda=(("https://host/noarch/a-1.0-0.conda", "aa"),),
        built=("horovod==0.28.1",),
        requirements="six==1.17.0 \\\n    --hash=sha256:bb",
    )
    assert str(lock) == TEXT
    assert Lock.parse(TEXT) == lock
