"""The `uv` program: resolve requirements to a lock, install a lock into an environment."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from trainyard.contract.errors import BuildFailed, DiskFull, EnvironmentRefused, IndexAway, Unsatisfied
from trainyard.environments.credentials import redacted
from trainyard.environments.options import PipOptions, for_uv
from trainyard.environments.programs import read_both, started

_NOISE = re.compile(r"warning: Failed to (?:hardlink|inspect)|^\s*If the cache and target directories")
_NETWORK = re.compile(
    r"Failed to fetch|error sending request|timed out|dns error|Could not connect|Request failed after", re.I
)
_TURNED_AWAY = re.compile(r"An index URL \((\S+)\) could not be queried due to [^(]*\((\d+ [^)]+)\)")
_EXACT = re.compile(r"^([A-Za-z0-9][\w.-]*)==(?=[^\s=+]+(?:\s|$))", re.M)  # to == a build 1.0+cpu is a 1.0 too
_TAGS = re.compile(r"only found wheels for `([^`]+)` .*?with the following Python ABI tags?: ((?:`[^`]+`(?:, )?)+)")
_NEEDS_OLD_TOOLS = "No module named 'pkg_resources'"  # which setuptools has not any more
_OLD_TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "old_tools.txt")
_LONG_AGO = (3, 8)  # what was kept up until then has wheels for a Python that is still to be had
_NO_SPACE = ("No space left on device", "os error 28", "Disk quota exceeded", "os error 122", "File too large")


@dataclass(frozen=True)
class Uv:
    """How to call it: with which settings, in whose time."""

    program: str
    options: PipOptions
    variables: Mapping[str, str]
    log: Callable[[str], None]
    until: float = float("inf")  # monotonic: when everything has to be over
    answer_s: int = 30  # an index that says nothing for this long does not answer
    cache: str | None = None
    quiet: bool = field(default=False, kw_only=True)
    old_tools: bool = field(default=False, kw_only=True)  # build sources with the setuptools of their time
    one_index: bool = field(default=False, kw_only=True)  # take a package from the first index that answers for it

    def compile(
        self,
        requirements: Iterable[str],
        python: str,
        *,
        constraints: Iterable[str] = (),
        deps: bool = True,
        build: bool = False,
        lowest: bool = False,
        hashes: bool = True,
        finals: bool = False,
        prefer: Iterable[str] = (),
    ) -> str:
        """The lock: every distribution with its version and hashes, in the form of a requirements file. `lowest`: of
        what is named, the lowest versions; `finals`: no early ones but those that are asked for; `prefer`: versions
        (name==version) that are taken where nothing speaks against them."""
        with tempfile.TemporaryDirectory(prefix="trainyard-uv-") as folder:
            source = os.path.join(folder, "requirements.in")
            # constraints are named inside, not on the command line: their addresses may hold credentials
            _write(source, [*requirements, *(f"-c {path}" for path in self.options.constraints)])
            argv = ["pip", "compile", source, "--python", python, "--no-header", "--no-annotate", "--quiet"]
            argv += ["--generate-hashes"] if hashes else []
            argv += [] if deps else ["--no-deps"]
            argv += ["--resolution", "lowest-direct"] if lowest else []
            argv += ["--prerelease", "explicit"] if finals and not self.options.pre else []
            argv += self._binary_rules(build)
            if constraints := list(constraints):
                _write(os.path.join(folder, "constraints.txt"), constraints)
                argv += ["--constraint", os.path.join(folder, "constraints.txt")]
            lock = os.path.join(folder, "environment.lock")
            _write(lock, prefer)  # to uv what stands in its output file are wishes
            # what it says when it fails is in the error; a first attempt that fails is no news
            replace(self, quiet=True)._run([*argv, "--output-file", lock], folder)
            with open(lock, encoding="utf-8") as file:
                return file.read().replace(folder + os.sep, "")

    def turned_away(self, requirements: Iterable[str], python: str) -> str:
        """A sentence about an index that refuses the credentials it is given; empty: none does. To uv such an index is
        an empty one when the best version of all indexes counts, and it says so only when the first one does."""
        if not (self.options.index_url or self.options.extra_index_urls):
            return ""
        try:
            replace(self, one_index=True).compile(requirements, python, hashes=False)
        except EnvironmentRefused as error:
            if found := _TURNED_AWAY.search(error.message):
                return f"The index {found[1]} refuses the credentials in its address ({found[2]}): correct them."
        return ""

    def sync(self, lock: str, interpreter: str, *, exact: bool = True) -> None:
        """Install what the lock names, and nothing else. `exact`: what it does not name goes."""
        if not any(line and line[0] not in "#- " for line in lock.splitlines()):
            return
        with tempfile.TemporaryDirectory(prefix="trainyard-uv-") as folder:
            path = os.path.join(folder, "environment.lock")
            _write(path, [_EXACT.sub(r"\1===", lock)])
            verb = ["pip", "sync"] if exact else ["pip", "install", "--no-deps", "-r"]
            self._run([*verb, path, "--python", interpreter, "--break-system-packages"], folder)

    def install(self, what: Iterable[str], interpreter: str) -> None:
        """Named things without what they depend on."""
        argv = ["pip", "install", "--no-deps", "--python", interpreter, "--break-system-packages", *what]
        self._run(argv, None)

    def freeze(self, interpreter: str) -> list[str]:
        """name==version of what is installed."""
        said = self._run(["pip", "freeze", "--python", interpreter, "--quiet"], None)
        return [line for line in said.splitlines() if re.fullmatch(r"[\w.-]+==\S+", line)]

    def _binary_rules(self, build: bool) -> list[str]:
        argv = [] if build else ["--no-build"]
        argv += [word for name in self.options.only_binary for word in ("--only-binary", name)]
        return argv + [word for name in self.options.no_binary for word in ("--no-binary", name)]

    def _run(self, argv: list[str], private: str | None) -> str:
        """What it prints; its messages go to the log as they come, without credentials."""
        variables = {
            **{
                name: value for name, value in self.variables.items() if not name.startswith(("UV_INDEX", "UV_PROJECT"))
            },
            **for_uv(self.options),
            "UV_HTTP_TIMEOUT": str(self.answer_s),
            "UV_HTTP_RETRIES": "1",
            "UV_NO_PROGRESS": "1",
            "UV_NO_CONFIG": "1",
            "UV_PYTHON_DOWNLOADS": "never",
            "NO_COLOR": "1",
        }
        if self.cache:
            variables["UV_CACHE_DIR"] = self.cache
        if self.one_index:
            variables["UV_INDEX_STRATEGY"] = "first-index"
        if self.old_tools:
            variables["UV_BUILD_CONSTRAINT"] = _OLD_TOOLS
        variables.pop("VIRTUAL_ENV", None)
        if self.options.no_index and argv[:1] == ["pip"] and argv[1] != "freeze":
            argv = [*argv, "--no-index"]  # uv has no variable for it
        said: list[str] = []
        with started([self.program, *argv], variables) as process:
            try:
                output = read_both(process, self.until, lambda line: self._hear(line, said, private))
            except TimeoutError as error:
                raise IndexAway(
                    "The build took longer than it may. Is the package index slow? Raise "
                    "TRAINYARD_BUILD_DEADLINE (seconds) of the service, and submit again."
                ) from error
            code = process.wait()
        if code != 0 and not self.old_tools and any(_NEEDS_OLD_TOOLS in line for line in said):
            self.log("Its sources need the setuptools of their time: building again with that.")
            return replace(self, old_tools=True)._run(argv, private)
        if code != 0:
            raise _error(code, "\n".join(said))
        return output

    def _hear(self, line: str, said: list[str], private: str | None) -> None:
        line = redacted(line)
        if private:
            line = line.replace(private + os.sep, "")
        if not _NOISE.search(line):
            said.append(line)
            if not self.quiet:
                self.log(line)


@functools.cache
def find_program() -> str:
    """uv from its PyPI package, beside our own interpreter."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        if found := shutil.which("uv"):
            return found
        return _fetched(error)


def _fetched(missing: Exception) -> str:
    """A machine that was only attached has our code and no uv: its own pip brings it, once."""
    kept = os.path.join(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache"), "trainyard", "uv")
    program = os.path.join(kept, "bin", "uv")
    if os.path.isfile(program):
        return program
    os.makedirs(os.path.dirname(kept), mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="uv-", dir=os.path.dirname(kept)) as aside:
        fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--target", aside, "uv"]
        done = subprocess.run(fetch, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not os.path.isfile(os.path.join(aside, "bin", "uv")):
            said = (done.stderr.strip() or "pip brought none").splitlines()[-1]
            raise EnvironmentRefused(
                f"The program uv is missing on {platform.node()}, and it could not be fetched: {said}. Install it "
                "there (pip install uv), then submit again."
            ) from missing
        with contextlib.suppress(OSError):  # another was quicker
            os.rename(aside, kept)
            os.mkdir(aside)  # which the block is going to remove
    return program


def _error(code: int, said: str) -> EnvironmentRefused | DiskFull:
    if any(mark in said for mark in _NO_SPACE):
        return DiskFull("the environments")
    sentence = _sentence(said) or f"uv ended with code {code}."
    if _NETWORK.search(said):
        return IndexAway(
            f"{sentence.rstrip('. ')}. Check that the package index can be reached from the service's machine, then "
            "submit again."
        )
    if "failed to build" in said.lower():
        return BuildFailed(_last_words(said) or sentence)
    return Unsatisfied(sentence)


def _sentence(said: str) -> str:
    """From its error on, on one line where it is short."""
    found = re.search(r"^error:", said, re.M)
    text = said[found.start() :] if found else said
    text = re.sub(r":?\s*\n\s*cause:\s*", ": ", text.removeprefix("error:").lstrip())
    text = re.sub(r"No solution found when resolving dependencies:?\s*", "", text)
    text = re.sub(r"^hint: Wheels are required.*$", "", text, flags=re.M)  # our way of asking, not the user's wish
    text = re.sub(r"\n+hint: ", " Hint: ", text)
    text = re.sub(r"\s*\n\s*", " ", text).strip()
    text = text if len(text) <= 3000 else text[:3000] + " …"
    given_up = _given_up(text)
    return f"{text.rstrip('. ')}. {given_up}" if given_up else text


def _given_up(text: str) -> str:
    """What has wheels for Pythons of long ago alone will get no others."""
    if (found := _TAGS.search(text)) is None:
        return ""
    versions = [re.fullmatch(r"cp(\d)(\d+)\w*", tag) for tag in re.findall("`([^`]+)`", found[2])]
    newest = max(((int(it[1]), int(it[2])) for it in versions if it is not None), default=(0, 0))
    if None in versions or newest >= _LONG_AGO:
        return ""
    return (
        f"{found[1]} was last built for Python {newest[0]}.{newest[1]} and is not kept up any more: use another "
        "package in its place."
    )


def _last_words(said: str) -> str:
    """What did not build, and the last thing its build said: the log has all that is between."""
    text = re.split(r"^hint:", said, maxsplit=1, flags=re.M)[0]
    found = re.search(r"^.*failed to build.*$", text, re.M | re.I)
    if found is None:
        return ""
    *_, last = [line.strip() for line in text.splitlines() if line.strip()]
    what = re.sub(r"^\s*(?:error|cause):", "", found[0]).strip()
    return what if last in found[0] else f"{what}: {last}"


def _write(path: str, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
