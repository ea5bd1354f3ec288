"""Jobs of several nodes, with folders they share and with folders of their own; ports that agents hold."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from yard import Yard

from trainyard.agent.ports import HeldPorts
from trainyard.contract.attempts import NodeEnded
from trainyard.contract.runs import Role

LOG = "azureml-logs/70_driver_log_{}.txt"


@pytest.fixture(params=["shared", "apart"])
def either(request: pytest.FixtureRequest) -> Yard:
    found: Yard = request.getfixturevalue("yard" if request.param == "shared" else "apart")
    return found


def test_mpi_needs_no_shared_disk(either: Yard) -> None:
    code = "import os, sys; print(os.environ['OMPI_COMM_WORLD_RANK'], os.environ['OMPI_COMM_WORLD_SIZE'], sys.argv[1:])"
    roles = (Role("worker", 4),)
    heard = either.run(
        code, nodes=2, launcher="mpi", roles=roles, ports=2, arguments=("$DATA",), variables={"DATA": "/d"}
    )
    assert [heard.log(LOG.format(rank)) for rank in range(4)] == [b"%d 4 ['/d']\n" % rank for rank in range(4)]
    assert heard.ended == {0: NodeEnded(exit_code=0), 1: NodeEnded(exit_code=0)}


def test_a_rank_of_another_node_fails_with_its_own_words(either: Yard) -> None:
    code = "import os, sys, time\nrank = os.environ['OMPI_COMM_WORLD_RANK']\nprint('I am', rank, flush=True)\n"
    code += "sys.exit(3) if rank == '1' else time.sleep(600)\n"
    heard = either.run(code, nodes=2, launcher="mpi", roles=(Role("worker", 2),), ports=2)
    error = heard.ended[1].error
    assert error is not None
    assert (error.rank, error.exit_code, error.last_lines) == (1, 3, ("I am 1",))


def test_the_reason_is_the_rank_that_raised_and_not_the_one_that_ended_first(yard: Yard, tmp_path: Path) -> None:
    """As with Horovod: a rank that fails waits at its exit, where it takes the others along."""
    code = """
import atexit, os, pathlib, sys, time
raised = pathlib.Path(sys.argv[1])
def leave():
    raised.touch()
    time.sleep(600)
if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    atexit.register(leave)
    raise ValueError("the reason")
while not raised.exists(): time.sleep(0.01)
raise RuntimeError("HorovodInternalError: Horovod has been shut down.")
"""
    arguments = (str(tmp_path / "raised"),)
    heard = yard.run(code, nodes=2, launcher="mpi", roles=(Role("worker", 2),), ports=2, arguments=arguments)
    assert heard.ended[0].taken_along
    error = heard.ended[1].error
    assert error is not None
    assert (error.rank, error.exit_code, error.last_lines[-1]) == (1, 1, "ValueError: the reason")
    assert not heard.ended[1].taken_along


def test_an_error_that_a_rank_told_of_and_survived_is_none(yard: Yard) -> None:
    code = "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc()"
    heard = yard.run(code, nodes=2, launcher="mpi", roles=(Role("worker", 2),), ports=2)
    assert heard.ended == {0: NodeEnded(exit_code=0), 1: NodeEnded(exit_code=0)}


def test_each_process_has_a_session_of_its_own(yard: Yard) -> None:
    """Processors are shared out between sessions."""
    heard = yard.run(
        "import os; print(os.getsid(0) == os.getpid())", launcher="torch", roles=(Role("worker", 2),), ports=1
    )
    assert [heard.log(LOG.format(rank)) for rank in range(2)] == [b"True\n"] * 2


def test_torch_processes_meet(either: Yard) -> None:
    code = "import os; print(os.environ['RANK'], os.environ['AZ_BATCHAI_PYTORCH_INIT_METHOD'].partition(':')[0])"
    heard = either.run(code, nodes=2, launcher="torch", roles=(Role("worker", 2),), ports=1)
    how = b"file" if either.shared else b"tcp"
    assert [heard.log(LOG.format(rank)) for rank in range(2)] == [b"0 " + how + b"\n", b"1 " + how + b"\n"]


def test_what_serves_ends_when_all_nodes_are_done(yard: Yard) -> None:
    code = "import json, os, time\nif json.loads(os.environ['TF_CONFIG'])['task']['type'] == 'ps': time.sleep(600)\n"
    heard = yard.run(code, nodes=2, launcher="tf_config", roles=(Role("worker", 1), Role("ps", 1)), ports=1)
    assert heard.ended == {0: NodeEnded(exit_code=0), 1: NodeEnded(exit_code=0)}
    assert heard.done == {1}


def test_the_same_port_is_never_held_twice() -> None:
    held = [HeldPorts(50) for _ in range(4)]
    numbers = [number for one in held for number in one.numbers]
    for one in held:
        one.close()
    assert len(set(numbers)) == 200


def test_a_held_port_keeps_others_out_until_it_is_released() -> None:
    held = HeldPorts(1)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", held.numbers[0]))
        held.release()
        other.bind(("127.0.0.1", held.numbers[0]))
    held.close()
