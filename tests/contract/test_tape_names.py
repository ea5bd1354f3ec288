"""Names on a tape: one number each, whoever comes first."""

from __future__ import annotations

import threading
from pathlib import Path

from trainyard.contract.tape import NAME, TapeWriter, records


def test_threads_that_name_metrics_at_once_do_not_share_a_number(tmp_path: Path) -> None:
    tape = TapeWriter(str(tmp_path / "tape"))
    together = threading.Barrier(8)

    def log(own: int) -> None:
        together.wait()
        for at in range(50):
            tape.number(f"metric {own}-{at}", float(own))
            tape.number(f"shared {at}", float(own))

    threads = [threading.Thread(target=log, args=(own,)) for own in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = list(records((tmp_path / "tape").read_bytes()))
    names = [record for record in found if record.kind == NAME]
    assert len(names) == len({record.name for record in names}) == len({record.value for record in names}) == 450
    assert len(found) - len(names) == 800


def test_a_value_whose_name_the_disk_refused_is_refused_too() -> None:
    tape = TapeWriter("/dev/full")
    assert tape.number("loss", 1.0) is False
    assert tape.values("loss", [1, 2]) is False
    assert tape.json("loss", "{}") is False
    tape.close()
