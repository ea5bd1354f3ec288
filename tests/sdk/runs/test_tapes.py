import os

from trainyard.contract.tape import FLOAT, NAME, records
from trainyard.sdk.runs.tapes import Tape


def values(path):
    return [(record.kind, record.value) for record in records(path.read_bytes())]


def test_each_process_writes_a_tape_of_its_own_also_after_a_fork(tmp_path):
    tape = Tape(lambda: str(tmp_path), rank=3)
    assert tape.number("loss", 0.5)
    child = os.fork()
    if child == 0:
        tape.number("loss", 1.5)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert tape.number("loss", 2.5)
    tapes = {path.name.split("-")[1]: path for path in tmp_path.iterdir()}
    assert all(path.name.startswith("3-") and path.name.endswith(".tape") for path in tapes.values())
    assert values(tapes[str(os.getpid())]) == [(NAME, "loss"), (FLOAT, 0.5), (FLOAT, 2.5)]
    assert values(tapes[str(child)]) == [(NAME, "loss"), (FLOAT, 1.5)]


def test_a_folder_that_is_gone_costs_the_metric_and_not_the_training(tmp_path, caplog):
    tape = Tape(lambda: str(tmp_path / "gone"))
    assert tape.number("loss", 0.5) is False
    assert tape.values("loss", [1]) is False
    assert "Metrics cannot be written" in caplog.text
