"""Makes one environment in its folder: from a lock here, from a wish in `fresh`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace

from trainyard.contract.errors import DiskFull, EnvironmentRefused
from trainyard.environments.credentials import put_back, redacted
from trainyard.environments.locks import Lock
from trainyard.environments.options import of_machine
from trainyard.environments.request import Request, platform
from trainyard.environments.site import Log, Made, Site
from trainyard.environments.store import Built, Store
from trainyard.environments.uv import Uv, find_program
from trainyard.environments.venv import lay

_FRAMEWORK = re.compile(r"^(?:keras|numpy|scikit-learn|tensorflow|torch)\b", re.M)


def make(request: Request, folder: str, store: Store, variables: Mapping[str, str], log: Log) -> Built:
    began = time.monotonic()
    for line in (f"Building environment {request.name} ({request.key}).", *request.log, *request.notes):
        log(line)
    uv = Uv(
        program=request.uv if os.access(request.uv, os.X_OK) else find_program(),
        options=request.wanted.options.over(of_machine(variables)),
        variables=variables,
        log=log,
        until=began + request.deadline_s,
        answer_s=request.answer_s,
        cache=_cache(store, variables),
    )
    site = Site(request, folder, store, uv, log)
    try:
        made = _from_lock(site, request.lock) if request.lock is not None else _from_wish(site)
    except DiskFull as error:
        raise DiskFull(store.root) from error
    return Built(
        key=request.key,
        interpreter=os.path.join(folder, "bin", "python"),
        python=made.lock.python,
        lock=redacted(str(made.lock)),  # it is kept with the run, for whoever may see that
        notes=tuple(dict.fromkeys((*request.notes, *made.notes))),
        variables=_variables(request, made, folder),
        seconds=time.monotonic() - began,
        built_ns=time.time_ns(),
    )


def _from_lock(site: Site, text: str) -> Made:
    lock = Lock.parse(put_back(text, site.request.wanted.addresses()))
    if lock.platform != platform():
        raise EnvironmentRefused(
            f"The lock was made for {lock.platform} and this machine is {platform()}. Submit its environment."
        )
    site.log("Installing a resolved lock as it is.")
    if lock.conda:
        from trainyard.environments import conda

        if not conda.is_installed():
            raise EnvironmentRefused(
                "The lock has conda packages and py-rattler is not installed. Install it beside the service: "
                "pip install 'trainyard[conda]'."
            )
        conda.install_locked(lock.conda, site.folder, site.conda_cache, site.left_s())
    elif site.request.interpreter is not None:
        lay(site.folder, site.request.interpreter)
    site.install(lock)
    return Made(lock)


def _from_wish(site: Site) -> Made:
    from trainyard.environments.fresh import Fresh  # here: what it imports takes longer than installing a small lock

    return Fresh(site).make()


def _variables(request: Request, made: Made, folder: str) -> dict[str, str]:
    if not _FRAMEWORK.search(made.lock.requirements):
        return made.variables(folder)
    from trainyard.environments import conda, old_frameworks  # here: who installs another lock parses nothing

    asked = (*request.wanted.requirements, *conda.to_pypi(request.wanted.conda)[0])
    wanted = replace(request.wanted, requirements=asked)
    return {**old_frameworks.variables(wanted, made.lock.requirements), **made.variables(folder)}


def _cache(store: Store, variables: Mapping[str, str]) -> str | None:
    """uv's own cache, so that everything on this machine shares one; beside the environments where its own is on
    another disk, because links do not cross disks."""
    if variables.get("UV_CACHE_DIR"):
        return None
    home = variables.get("HOME") or os.path.expanduser("~")
    usual = os.path.join(variables.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "uv")
    place = next(it for it in (usual, os.path.dirname(usual), home, "/") if os.path.isdir(it))
    same_disk = os.stat(place).st_dev == os.stat(store.root).st_dev and os.access(place, os.W_OK)
    return None if same_disk else os.path.join(store.root, ".uv-cache")
