"""What goes wrong in a service, and what its clients see of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from deployed import Deployed, scorer

from trainyard.contract.serving import Auth, ServiceState

OfScript = Callable[..., Deployed]

ON_DEMAND = """
import json, os, signal, sys, time

def init():
    print("init of", os.getpid())

held = []

def run(data):
    wish = json.loads(data)
    if "sleep" in wish:
        time.sleep(wish["sleep"])
    if "spin" in wish:
        sum(range(10**10))  # one call into C: nothing can interrupt it
    if "exit" in wish:
        os._exit(wish["exit"])
    if "kill" in wish:
        print("last words")
        os.kill(os.getpid(), signal.SIGKILL)
    if "quit" in wish:
        sys.exit(3)
    if "leak" in wish:
        held.append(b"x" * (wish["leak"] << 20))
    return os.getpid()
"""


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def test_a_process_that_is_killed_is_started_again(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND)
    first = deployed.post({}).json
    reply = deployed.post({"kill": 1})
    assert reply.status == 502
    assert reply.json["message"] == (
        "The scoring process ended with signal 9 (SIGKILL). The log of the service says more."
    )
    assert "last words\n" in deployed.log()
    second = deployed.post({})  # it waits for the new process rather than being refused
    assert second.status == 200
    assert second.json != first
    assert deployed.post({"exit": 4}).json["message"].startswith("The scoring process ended with exit code 4.")
    status = deployed.until(lambda it: it.state is ServiceState.HEALTHY and it.scorers[0].restarts == 2)
    assert status.scorers[0].workers == 1


def test_only_the_request_that_was_in_work_fails_with_its_process(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND)
    for _ in range(40):  # short ones: from now on the process gets requests ahead of its answers
        deployed.post({})
    wishes = [{"kill": 1} if number == 20 else {} for number in range(60)]
    with ThreadPoolExecutor(20) as pool:
        replies = list(pool.map(deployed.post, wishes))
    assert [number for number, reply in enumerate(replies) if reply.status != 200] == [20]


def test_a_process_that_is_told_to_go_ends_by_itself(of_script: OfScript) -> None:
    """Nobody has to kill it: what it registered for its end is done."""
    script = "import atexit\ndef init():\n    atexit.register(print, 'tidied up')\ndef run(data):\n    return 1\n"
    deployed = of_script(script)
    assert deployed.post({}).json == 1
    assert deployed.stop() == 0
    assert "tidied up" in deployed.log()


def test_sys_exit_in_run_is_an_error_like_others(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND)
    pid = deployed.post({}).json
    reply = deployed.post({"quit": 1})
    assert (reply.status, reply.json["message"]) == (500, "The scoring code called sys.exit(3)")
    assert deployed.post({}).json == pid


def test_a_run_that_blocks_is_interrupted(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND, plan={"scoring_timeout_ms": 300})
    pid = deployed.post({}).json
    reply = deployed.post({"sleep": 30})
    assert (reply.status, reply.json["message"]) == (500, "Scoring timeout after 300 ms")
    assert reply.headers["x-ms-run-function-failed"] == "True"
    assert "time.sleep(wish" in deployed.log()  # where it was
    assert deployed.post({}).json == pid  # the model is still loaded


def test_a_run_that_cannot_be_interrupted_is_ended(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND, plan={"scoring_timeout_ms": 300})
    pid = deployed.post({}).json
    reply = deployed.post({"spin": 1})
    assert reply.status == 500
    assert reply.json["message"].startswith(
        "Scoring timeout after 300 ms; the scoring process could not be interrupted"
    )
    assert "sum(range(10**10))" in deployed.log() or 'score.py", line' in deployed.log()
    assert deployed.post({}).json != pid


def test_an_init_that_hangs_fails_and_shows_where(written, service) -> None:
    source = written("import time\ndef init():\n    time.sleep(600)\ndef run(data): pass\n")
    deployed = service(scorer(source), init_timeout_s=1.0).start()
    status = deployed.settled()
    assert status.state is ServiceState.FAILED
    assert status.error == (
        "Version 1 did not start: init() did not return within 1 seconds; the log shows where it was."
    )
    assert 'score.py", line 3 in init' in deployed.log()
    assert deployed.workers() == []


def test_a_script_that_cannot_be_imported_is_shown_without_our_frames(written, service) -> None:
    source = written("import no_such_module\ndef init(): pass\ndef run(data): pass\n")
    error = service(scorer(source)).start().settled().error
    assert error == (
        "Version 1 did not start: ModuleNotFoundError: No module named 'no_such_module'\n"
        "Traceback (most recent call last):\n"
        f'  File "{source / "score.py"}", line 1, in <module>\n'
        "    import no_such_module\n"
        "ModuleNotFoundError: No module named 'no_such_module'"
    )


def test_a_process_that_leaks_is_replaced_before_it_hurts(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND, memory_mb=150)
    pid = deployed.post({"leak": 200}).json
    deployed.until(lambda it: it.scorers[0].restarts == 1)
    assert deployed.post({}).json != pid


def test_a_model_that_needs_more_than_it_was_promised_is_let_be(of_script: OfScript) -> None:
    script = (
        "import os\ndef init():\n    global held\n    held = b'x' * (100 << 20)\ndef run(data): return os.getpid()\n"
    )
    deployed = of_script(script, memory_mb=50)
    pid = deployed.post("").json
    time.sleep(2.5)  # two looks at its memory
    assert deployed.post("").json == pid


def test_an_init_that_fails_after_a_crash_makes_it_unhealthy_until_it_works(written, service, tmp_path) -> None:
    flag = tmp_path / "broken"
    source = written(
        f"import os\ndef init():\n    assert not os.path.exists({str(flag)!r}), 'no database'\n"
        "def run(data): os._exit(1) if data == 'die' else None\n"
    )
    deployed = service(scorer(source)).start().healthy()
    flag.touch()
    assert deployed.post("die").status == 502
    status = deployed.until(lambda it: it.state is ServiceState.UNHEALTHY and "no database" in str(it.error))
    assert status.scorers[0].state is ServiceState.UNHEALTHY
    assert deployed.get("/").status == 503
    flag.unlink()
    deployed.until(lambda it: it.state is ServiceState.HEALTHY)
    assert deployed.post("fine").status == 200


def test_the_queue_is_bounded(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND, plan={"queue": 3})
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda _: deployed.post({"sleep": 0.3}), range(12)))
    counts = Counter(reply.status for reply in replies)
    assert counts[200] + counts[503] == 12
    assert counts[200] >= 4  # one in work and three that wait
    refused = next(reply for reply in replies if reply.status == 503)
    assert refused.json == {"message": "3 requests are waiting already. Try again in a moment."}
    assert refused.headers["retry-after"] == "1"


def test_nobody_waits_longer_than_the_plan_says(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND, plan={"queue_wait_ms": 100})
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(deployed.post, {"sleep": 1.0})
        time.sleep(0.3)
        late = deployed.post({})
        assert (late.status, late.json["message"]) == (
            503,
            "The request waited 100 ms for a free scoring process. Try again in a moment.",
        )
        assert slow.result().status == 200


def test_those_who_hung_up_are_not_scored(of_script: OfScript) -> None:
    deployed = of_script(
        "def init(): pass\ndef run(data):\n    import time\n    time.sleep(0.5)\n    print('ran', data)\n"
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(deployed.post, "first")
        time.sleep(0.2)
        gone = deployed.connection()
        gone.request("POST", "/score", b"gone", {"Content-Type": "application/json"})
        time.sleep(0.1)
        gone.close()
        last = pool.submit(deployed.post, "last")
        assert first.result().status == last.result().status == 200
    assert "ran last" in deployed.log()
    assert "ran gone" not in deployed.log()


def test_bodies_up_to_the_limit_and_not_beyond(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return len(data)\n", plan={"body_limit": 100 << 20})
    hundred = b"x" * (100 << 20)
    reply = deployed.post(hundred)
    assert (reply.status, reply.json) == (200, 100 << 20)
    with socket.create_connection(deployed.address, timeout=30) as sock:
        sock.sendall(b"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: 104857601\r\n\r\n")
        assert sock.recv(1000).startswith(b"HTTP/1.1 413 ")  # before a byte of it was sent
    with socket.create_connection(deployed.address, timeout=30) as sock:
        sock.sendall(b"POST /score HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        sock.sendall(b"2\r\nhi\r\n3\r\nyou\r\n0\r\n\r\n")
        answer = b""
        while not answer.endswith(b"\r\n\r\n5"):
            answer += sock.recv(1000) or pytest.fail(f"it ends with {answer!r}")
    assert deployed.post("still here").json == 10


def test_who_sends_all_of_a_refused_body_hears_why(of_script: OfScript) -> None:
    plan = {"body_limit": 1 << 20, "auth": Auth.KEY, "key_digests": (digest("key"),)}
    deployed = of_script("def init(): pass\ndef run(data): return len(data)\n", plan=plan)
    much = b"x" * (64 << 20)
    assert deployed.post(much, Authorization="Bearer key").status == 413
    assert deployed.post(much, Authorization="Bearer old").status == 401
    assert deployed.post(b"x", Authorization="Bearer key").json == 1


def test_small_limits_hold_for_bodies_without_a_length(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return len(data)\n", plan={"body_limit": 10})
    with socket.create_connection(deployed.address, timeout=30) as sock:
        sock.sendall(b"POST /score HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n")
        assert b"HTTP/1.1 413 " in sock.recv(1000)
    assert deployed.post("hello worl").json == 10


def test_bytes_that_are_no_http(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return 1\n")
    with socket.create_connection(deployed.address, timeout=30) as sock:
        sock.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert sock.recv(1000).startswith(b"HTTP/1.1 400 ")
    assert deployed.post("").json == 1


PATHS = [
    ("GET", "/"),
    ("POST", "/score"),
    ("OPTIONS", "/score"),
    ("GET", "/swagger.json"),
    ("GET", "/metrics"),
    ("GET", "/api/v1/service/echo/"),
    ("POST", "/api/v1/service/echo/score"),
    ("GET", "/nowhere"),
    ("DELETE", "/score"),
]


def test_without_a_key_nothing_but_401(of_script: OfScript) -> None:
    plan = {"auth": Auth.KEY, "key_digests": (digest("first"), digest("second"))}
    deployed = of_script("def init(): pass\ndef run(data): return 1\n", plan=plan)
    wrong = ["", "Bearer", "Bearer ", "Bearer wrong", "Basic Zmlyc3Q=", "first", f"Bearer {digest('first')}"]
    for method, path in PATHS:
        for given in wrong:
            headers = {"Authorization": given} if given else {}
            assert deployed.ask(method, path, b"{}", headers).status == 401, (method, path, given)
    for key in ("first", "second"):
        assert deployed.post({}, Authorization=f"Bearer {key}").status == 200
        assert deployed.get("/nowhere", Authorization=f"bearer {key}").status == 404
    assert "first" not in deployed.log()


def test_tokens_end(of_script: OfScript) -> None:
    now = time.time_ns()
    tokens = {digest("good"): now + 60 * 10**9, digest("old"): now - 1}
    deployed = of_script(
        "def init(): pass\ndef run(data): return 1\n", plan={"auth": Auth.TOKEN, "token_digests": tokens}
    )
    assert deployed.post({}, Authorization="Bearer good").status == 200
    assert deployed.post({}, Authorization="Bearer old").status == 401


class Load:
    """Clients that ask without a pause until told to stop, and what they were answered."""

    def __init__(self, deployed: Deployed, headers: Callable[[], dict[str, str]] = dict, clients: int = 4) -> None:
        self.counts: Counter[tuple[int, str]] = Counter()
        self.lost: list[str] = []
        self._deployed = deployed
        self._headers = headers
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def total(self) -> int:
        return sum(self.counts.values())

    def more(self, count: int) -> None:
        wanted = self.total() + count
        ends = time.monotonic() + 30
        while self.total() < wanted:
            assert time.monotonic() < ends, "the load stands still"
            time.sleep(0.005)

    def _ask(self) -> None:
        connection = self._deployed.connection()
        while not self._over.is_set():
            try:
                connection.request("POST", "/score", b"1", {"Content-Type": "application/json", **self._headers()})
                reply = connection.getresponse()
                body = reply.read().decode()
                self.counts[reply.status, body] += 1
            except OSError as error:
                self.lost.append(repr(error))
                connection.close()
        connection.close()


def test_keys_change_under_load(of_script: OfScript) -> None:
    plan = {"auth": Auth.KEY, "key_digests": (digest("old"), digest("other"))}
    deployed = of_script("def init(): pass\ndef run(data): return 1\n", plan=plan)
    pid = deployed.workers()[0].pid
    with Load(deployed, lambda: {"Authorization": "Bearer other"}) as load:
        load.more(50)
        deployed.replan(dataclasses.replace(deployed.plan, generation=2, key_digests=(digest("new"), digest("other"))))
        deployed.healthy()
        assert deployed.post({}, Authorization="Bearer old").status == 401
        assert deployed.post({}, Authorization="Bearer new").status == 200
        load.more(50)
    assert set(load.counts) == {(200, "1")}
    assert load.lost == []
    assert deployed.workers()[0].pid == pid  # nothing was loaded again


def test_a_new_version_comes_without_a_failed_request(written, service) -> None:
    slow = "import time\ndef init(): time.sleep(0.3)\ndef run(data): return {!r}\n"
    deployed = service(scorer(written(slow.format("old"), "old"))).start().healthy()
    before = deployed.workers()[0]
    with Load(deployed) as load:
        load.more(50)
        new = scorer(written(slow.format("new"), "new"), smoke="{}")
        deployed.replan(dataclasses.replace(deployed.plan, generation=2, scorers=(new,)))
        deployed.healthy()
        assert deployed.post("1").json == "new"
        load.more(50)
    assert set(load.counts) == {(200, '"old"'), (200, '"new"')}
    assert load.lost == []
    before.wait(10)  # the old process has gone
    status = deployed.status()
    assert status is not None
    assert (status.generation, status.serving) == (2, 2)


def test_a_body_that_arrives_while_its_version_goes_is_answered_by_the_next(written, service) -> None:
    answers = "def init(): pass\ndef run(data): return {!r}\n"
    deployed = service(scorer(written(answers.format("old"), "old")), scoring_timeout_ms=2000).start().healthy()
    before = deployed.workers()[0]
    asked = deployed.connection()
    asked.putrequest("POST", "/score")
    asked.putheader("Content-Length", "2")
    asked.endheaders(b"{")
    assert deployed.get("/").status == 200  # on another connection: the first one's head has been read by now
    new = scorer(written(answers.format("new"), "new"))
    deployed.replan(dataclasses.replace(deployed.plan, generation=2, scorers=(new,)))
    deployed.healthy()
    before.wait(10)
    asked.send(b"}")
    reply = asked.getresponse()
    assert (reply.status, reply.read()) == (200, b'"new"')
    asked.close()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("def init(): raise ValueError('bad weights')\ndef run(data): pass\n", "ValueError: bad weights"),
        ("def init(): pass\ndef run(data): return 1 / 0\n", "The smoke test was answered with 500: "),
        (
            "def init(): pass\ndef run(data):\n    import os\n    os._exit(9)\n",
            "The scoring process ended with exit code 9",
        ),
    ],
)
def test_a_version_that_is_no_good_never_takes_traffic(written, service, script: str, said: str) -> None:
    deployed = service(scorer(written("def init(): pass\ndef run(data): return 'old'\n", "old"))).start().healthy()
    pid = deployed.workers()[0].pid
    with Load(deployed) as load:
        load.more(20)
        bad = scorer(written(script, "bad"), smoke="{}")
        deployed.replan(dataclasses.replace(deployed.plan, generation=2, scorers=(bad,)))
        status = deployed.settled()
        assert (status.state, status.generation, status.serving) == (ServiceState.FAILED, 2, 1)
        assert status.error is not None
        assert said in status.error
        load.more(20)
    assert set(load.counts) == {(200, '"old"')}
    assert [worker.pid for worker in deployed.workers()] == [pid]


def test_a_newer_plan_does_not_wait_for_a_hanging_one(written, service) -> None:
    deployed = service(scorer(written("def init(): pass\ndef run(data): return 'old'\n", "old"))).start().healthy()
    hangs = scorer(written("import time\ndef init(): time.sleep(600)\ndef run(data): pass\n", "hangs"))
    deployed.replan(dataclasses.replace(deployed.plan, generation=2, scorers=(hangs,)))
    deployed.until(lambda it: it.generation == 2 and len(it.scorers) == 2)
    good = scorer(written("def init(): pass\ndef run(data): return 'new'\n", "good"))
    deployed.replan(dataclasses.replace(deployed.plan, generation=3, scorers=(good,)))
    deployed.healthy(10)
    assert deployed.post("").json == "new"
    deployed.until_workers(1)


def test_a_plan_that_cannot_be_read_changes_nothing(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return 1\n")
    (deployed.folder / "plan.json").write_text("{")
    assert deployed.process is not None
    deployed.process.send_signal(signal.SIGHUP)
    deployed.until_logged("The new plan is not followed: ")
    assert deployed.post("").json == 1


def test_accepted_requests_are_answered_before_the_end(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND)
    with ThreadPoolExecutor(3) as pool:
        slow = [pool.submit(deployed.post, {"sleep": 0.4}) for _ in range(3)]
        time.sleep(0.2)
        assert deployed.stop() == 0
        assert [one.result().status for one in slow] == [200, 200, 200]


def test_workers_end_with_a_front_that_is_killed(of_script: OfScript) -> None:
    deployed = of_script(ON_DEMAND, workers=2)
    workers = deployed.workers()
    assert len(workers) == 2
    asked = deployed.connection()
    asked.request("POST", "/score", b'{"sleep": 60}')
    time.sleep(0.2)  # one of them is in the middle of a run()
    deployed.stop(signal.SIGKILL)
    asked.close()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert alive == []


def test_it_comes_back_on_its_port(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return 1\n")
    address = deployed.address
    deployed.stop(signal.SIGKILL)
    deployed.start().healthy()
    assert deployed.address == address


def test_a_plan_of_another_port_ends_the_front_for_its_keeper_to_start_it_there(of_script: OfScript) -> None:
    deployed = of_script("import time\ndef init(): pass\ndef run(data): print('begun'); time.sleep(0.3); return 1\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(deployed.post("{}").status))
    asking.start()
    deployed.until_logged("begun")
    deployed.replan(dataclasses.replace(deployed.plan, generation=2, port=port))
    assert deployed.process is not None
    assert deployed.process.wait(30) == 0
    deployed.stop()
    asking.join()
    assert answers == [200]
    deployed.start().healthy()
    assert deployed.address == ("127.0.0.1", port)


def test_a_port_that_is_taken(written, service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        deployed = service(scorer(written("def init(): pass\ndef run(data): pass\n")), port=port).start()
        status = deployed.settled()
        assert deployed.process is not None
        assert deployed.process.wait(10) == 1
    assert status.state is ServiceState.FAILED
    assert status.error == (
        f"The service cannot listen at 127.0.0.1:{port} (Address already in use). Choose another port, or end the "
        "program that has it."
    )


def test_one_front_serves_a_folder(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return 1\n")
    second = Deployed(deployed.folder, deployed.home, deployed.plan).start()
    assert second.process is not None
    assert second.process.wait(20) == 2
    assert second.process.stderr is not None
    assert b"A front serves " in second.process.stderr.read()
    second.process.stderr.close()
    status = deployed.status()
    assert status is not None
    assert status.state is ServiceState.HEALTHY
    assert deployed.post("").json == 1


def test_nothing_that_is_printed_is_lost(of_script: OfScript) -> None:
    script = """
    import logging, os, subprocess, sys, threading
    def init():
        logging.basicConfig(level=logging.INFO)
    def run(data):
        number = int(data)
        print("out", number)
        print("err", number, file=sys.stderr)
        logging.info("log %d", number)
        subprocess.run(["echo", f"child {number}"])
        os.write(1, f"raw {number}\\n".encode())
        if number == 59:
            os._exit(0)
    """
    deployed = of_script(script, workers=2)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: deployed.post(str(number)), range(60)))
    lines = Counter(deployed.log().splitlines())
    for number in range(60):
        for line in (f"out {number}", f"err {number}", f"INFO:root:log {number}", f"child {number}", f"raw {number}"):
            assert lines[line] == 1, line


def test_the_log_holds_one_line_for_each_request(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return 1\n")
    deployed.ask("POST", "/score?a=%0aFAKE", b"1", {"x-request-id": "r-7"})
    (line,) = [line for line in deployed.log().splitlines() if "r-7" in line]
    stamp, method, target, code, took, size, version, number = line.split(" ")
    assert (method, target, code, size, version, number) == ("POST", "/score?a=%0aFAKE", "200", "1", "1", "r-7")
    assert took.endswith("ms")
    assert stamp.endswith("Z")
    assert json.dumps(os.getpid()) not in line
