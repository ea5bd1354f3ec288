"""pip's options inside a requirements list, and pip's settings on this machine: one shape for both. uv reads neither
by itself. Addresses may hold credentials, so they travel in variables and files, never in a command line or a log."""

from __future__ import annotations

import configparser
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from trainyard.contract.errors import EnvironmentRefused
from trainyard.environments.credentials import redacted


@dataclass(frozen=True)
class PipOptions:
    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()  # paths or addresses
    trusted_hosts: tuple[str, ...] = ()
    no_binary: tuple[str, ...] = ()
    only_binary: tuple[str, ...] = ()
    no_index: bool = False
    pre: bool = False
    certificate: str | None = None

    def over(self, machine: PipOptions) -> PipOptions:
        """These, on top of what the machine is set to."""
        return replace(
            self,
            index_url=self.index_url or machine.index_url,
            extra_index_urls=_merged(self.extra_index_urls, () if self.no_index else machine.extra_index_urls),
            find_links=_merged(self.find_links, () if self.no_index else machine.find_links),
            constraints=_merged(self.constraints, machine.constraints),
            trusted_hosts=_merged(self.trusted_hosts, machine.trusted_hosts),
            no_index=self.no_index or machine.no_index,
            certificate=self.certificate or machine.certificate,
        )


_VALUED = {
    "-i": "index_url",
    "--index-url": "index_url",
    "--pypi-url": "index_url",
    "--extra-index-url": "extra_index_urls",
    "-f": "find_links",
    "--find-links": "find_links",
    "-c": "constraints",
    "--constraint": "constraints",
    "--trusted-host": "trusted_hosts",
    "--no-binary": "no_binary",
    "--only-binary": "only_binary",
}
_FLAGS = ("--no-index", "--pre")
_WITHOUT_EFFECT = ("--prefer-binary", "--no-cache-dir", "--require-hashes", "--use-pep517", "--no-warn-script-location")
_FILE = "Put the packages of that file into the list itself."
_ADDRESS = "Name the address without it, as in name @ git+https://host/name.git."
_INSTEAD = {"-r": _FILE, "--requirement": _FILE, "-e": _ADDRESS, "--editable": _ADDRESS}


def parse_option(options: PipOptions, line: str) -> PipOptions:
    """`options` with one more line such as `--index-url https://…`."""
    words = line.replace("=", " ", 1).split() if re.match(r"--[\w-]+=", line) else line.split()
    while words:
        word = words.pop(0)
        if word in _FLAGS:
            flag = {"--no-index": replace(options, no_index=True), "--pre": replace(options, pre=True)}
            options = flag[word]
        elif word in _VALUED and not words:
            raise EnvironmentRefused(f"The pip option {word!r} needs a value after it. Give it one, or take it out.")
        elif word in _VALUED:
            options = _with_value(options, _VALUED[word], words.pop(0))
        elif word not in _WITHOUT_EFFECT:
            raise EnvironmentRefused(
                f"The pip option {redacted(word)!r} is not understood here. Known are: "
                f"{', '.join(sorted([*_VALUED, *_FLAGS]))}. {_INSTEAD.get(word, 'Take it out.')}"
            )
    return options


def of_machine(variables: Mapping[str, str]) -> PipOptions:
    """What pip would read: its configuration files, then its variables, the later ones winning."""
    settings: dict[str, str] = {}
    for path in _files(variables):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue  # pip itself would complain; an environment can be built without
        for section in ("global", "install"):
            if parser.has_section(section):
                settings |= dict(parser.items(section))
    settings |= {
        name[4:].lower().replace("_", "-"): value for name, value in variables.items() if name.startswith("PIP_")
    }
    return PipOptions(
        index_url=settings.get("index-url") or None,
        extra_index_urls=_words(settings, "extra-index-url"),
        find_links=_words(settings, "find-links"),
        constraints=_words(settings, "constraint"),
        trusted_hosts=_words(settings, "trusted-host"),
        no_index=settings.get("no-index", "").lower() in ("1", "true", "yes", "on"),
        certificate=settings.get("cert") or None,
    )


def for_uv(options: PipOptions) -> dict[str, str]:
    """The variables that say the same to uv."""
    said = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # as pip: the best version of all indexes, not the first's
    if options.index_url:
        said["UV_DEFAULT_INDEX"] = options.index_url
    if options.extra_index_urls:
        said["UV_INDEX"] = " ".join(options.extra_index_urls)
    if options.find_links:
        said["UV_FIND_LINKS"] = ",".join(options.find_links)
    if options.trusted_hosts:
        said["UV_INSECURE_HOST"] = " ".join(options.trusted_hosts)
    if options.certificate:
        said["SSL_CERT_FILE"] = options.certificate
    if options.pre:
        said["UV_PRERELEASE"] = "allow"
    return said


def _with_value(options: PipOptions, name: str, value: str) -> PipOptions:
    if name == "index_url":
        return replace(options, index_url=value)
    values = tuple(value.split(",")) if name in ("no_binary", "only_binary") else (value,)
    more: dict[str, Any] = {name: _merged(getattr(options, name), values)}
    return replace(options, **more)


def _merged(first: tuple[str, ...], then: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *then)))


def _words(settings: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(settings.get(name, "").split())


def _files(variables: Mapping[str, str]) -> list[str]:
    """pip's own order: the machine's, the user's, the interpreter's, the one that is named."""
    home = variables.get("HOME") or os.path.expanduser("~")
    named = variables.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    files = [os.path.join(folder, "pip", "pip.conf") for folder in ("/etc/xdg",)]
    files += ["/etc/pip.conf", os.path.join(home, ".pip", "pip.conf")]
    files.append(os.path.join(variables.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "pip", "pip.conf"))
    files.append(os.path.join(variables.get("VIRTUAL_ENV") or sys.prefix, "pip.conf"))
    return [*files, named] if named else files
