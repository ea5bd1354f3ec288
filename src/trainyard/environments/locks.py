"""The resolved lock as text: a requirements file with exact versions and hashes, headed by what pip has no word for."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TITLE = "# Trainyard environment lock 1"


@dataclass(frozen=True)
class Lock:
    python: str  # version of the interpreter it was resolved for
    platform: str
    conda: tuple[tuple[str, str], ...] = ()  # (address, SHA-256) of conda packages
    built: tuple[str, ...] = ()  # name==version of what is built from sources for the frameworks beside it
    requirements: str = ""  # lines with hashes

    def __str__(self) -> str:
        head = [_TITLE, f"# python {self.python}", f"# platform {self.platform}"]
        head += [f"# conda {url} {digest}" for url, digest in self.conda]
        head += [f"# built {name}" for name in self.built]
        return "\n".join([*head, self.requirements.strip(), ""])

    @staticmethod
    def parse(text: str) -> Lock:
        def said(word: str) -> list[str]:
            return re.findall(rf"^# {word} (.+)$", text, re.M)

        lines = [line for line in text.splitlines() if not line.startswith("#")]
        return Lock(
            python=(said("python") or [""])[0],
            platform=(said("platform") or [""])[0],
            conda=tuple((url, digest) for url, _, digest in (line.partition(" ") for line in said("conda"))),
            built=tuple(said("built")),
            requirements="\n".join(lines).strip(),
        )
