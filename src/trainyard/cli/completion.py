"""`trainyard completion`."""

from __future__ import annotations

from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the completion script of a shell.

    Try:

        trainyard completion bash >> ~/.bashrc
        trainyard completion zsh > ~/.zfunc/_trainyard
        trainyard completion fish > ~/.config/fish/completions/trainyard.fish
    """
    from trainyard.cli.main import build

    print(build().generate_completion(shell=shell))
