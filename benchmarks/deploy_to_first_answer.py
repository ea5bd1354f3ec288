"""From Model.deploy to the first answer, and from update() to the first answer of the new code, beside a bare program
of uvicorn and Starlette that is started and asked. Registering beside copying and hashing the file."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import io
import os
import shutil
import socket
import statistics
import subprocess
import time

from measure import Row, show
from scratch import PYTHON, Scratch, scratch

from azureml.core import Environment, Model
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AciWebservice

TIMES = 7
MODEL_MB = 50
SCORE = "def init():\n    pass\ndef run(data):\n    return {version}\n"
BARE = """\
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def score(request):
    await request.body()
    return JSONResponse(1)
app = Starlette(routes=[Route("/score", score, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical")
"""


def main() -> None:
    with scratch() as yard, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(yard.folder)
        model, copied, registered = _registered(yard)
        bare = statistics.median(_bare(yard) for _ in range(TIMES))
        deployed, updated = zip(*(_deployed(yard, model, at) for at in range(TIMES)), strict=True)
    show(
        "a service's first answer",
        [
            Row("Model.deploy to the first answer", statistics.median(deployed), bare, over="bare uvicorn + Starlette"),
            Row("update() to the new code's answer", statistics.median(updated), bare, over="bare uvicorn + Starlette"),
            Row(f"Model.register of {MODEL_MB} MB", registered, copied, over="a copy and its SHA-256"),
        ],
    )


def _registered(yard: Scratch) -> tuple[Model, float, float]:
    with open("small.bin", "wb") as file:
        file.write(b"1")
    small = Model.register(yard.workspace, "small.bin", "small")
    with open("model.bin", "wb") as file:
        for _ in range(MODEL_MB):
            file.write(os.urandom(1 << 20))
    begun = time.perf_counter()
    shutil.copyfile("model.bin", "copy.bin")
    with open("copy.bin", "rb") as file:
        hashlib.file_digest(file, "sha256")
    copied = time.perf_counter() - begun
    begun = time.perf_counter()
    Model.register(yard.workspace, "model.bin", "large")
    registered = time.perf_counter() - begun
    return small, copied * 1e3, registered * 1e3


def _deployed(yard: Scratch, model: Model, at: int) -> tuple[float, float]:
    own = Environment("own")
    own.python.user_managed_dependencies = True
    _write(SCORE.format(version=1))
    begun = time.perf_counter()
    service = Model.deploy(
        yard.workspace,
        f"bench-{at}",
        [model],
        InferenceConfig("score.py", environment=own),
        AciWebservice.deploy_configuration(),
    )
    service.wait_for_deployment()
    assert service.run("1") == 1
    deployed = time.perf_counter() - begun
    _write(SCORE.format(version=2))
    begun = time.perf_counter()
    service.update(inference_config=InferenceConfig("score.py", environment=own))
    service.wait_for_deployment()
    assert service.run("1") == 2
    updated = time.perf_counter() - begun
    service.delete()
    return deployed * 1e3, updated * 1e3


def _bare(yard: Scratch) -> float:
    script = yard.script("bare", BARE)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    begun = time.perf_counter()
    with subprocess.Popen([PYTHON, script, str(port)]) as process:
        while not _answers(port):
            time.sleep(0.002)
        took = time.perf_counter() - begun
        process.terminate()
    return took * 1e3


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("POST", "/score", b"1")
        return connection.getresponse().read() == b"1"
    except OSError:
        return False
    finally:
        connection.close()


def _write(text: str) -> None:
    with open("score.py", "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
