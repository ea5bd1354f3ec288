"""The `trainyard` program: its commands, and what happens to their errors."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from cyclopts import App, CycloptsError, UnknownOptionError, UnusedCliTokensError

from trainyard import __version__
from trainyard.contract.errors import TrainyardError

USAGE_ERROR = 2
INTERRUPTED = 130

EXAMPLES = """\
Try:
    trainyard run train.py -- --epochs 3     a tracked run, shown as it runs
    trainyard sweep train.py --param 'lr=loguniform(-6,-1)' --minimize loss
    trainyard runs list
    trainyard runs logs latest --follow
    trainyard doctor                         what is wrong, how to mend it

Everything is kept in TRAINYARD_HOME (default ~/.trainyard). The service
starts by itself when it is needed.
"""

# name → where it is and what it does. Help lists these without importing them.
COMMANDS = {
    "run": ("trainyard.cli.run:run", "Submit a script from the shell and show its output."),
    "sweep": ("trainyard.cli.sweep:sweep", "Search for the best parameters of a script."),
    "runs": ("trainyard.cli.runs:app", "List, look into, follow and cancel runs."),
    "models": ("trainyard.cli.models:app", "Registered models: list, register, download, alias, delete."),
    "deploy": ("trainyard.cli.services:deploy", "Deploy models as a web service."),
    "services": ("trainyard.cli.services:app", "Deployed services: list, logs, test, keys, delete."),
    "retention": ("trainyard.cli.retention:app", "Rules of what is deleted for good, and when."),
    "compute": ("trainyard.cli.compute:app", "Compute targets: list, create, delete, preempt."),
    "workspace": ("trainyard.cli.workspace:app", "Workspaces: list and create."),
    "check": ("trainyard.cli.check:check", "Read notebooks and scripts and say what of them runs here."),
    "status": ("trainyard.cli.status:status", "Say whether the service runs and what it is doing."),
    "server": ("trainyard.cli.server:server", "Run the service in the foreground."),
    "stop": ("trainyard.cli.stop:stop", "End the service."),
    "doctor": ("trainyard.cli.doctor:doctor", "Say what is wrong with this installation and how to mend it."),
    "completion": ("trainyard.cli.completion:completion", "Print shell completion for bash, zsh or fish."),
}


def main(arguments: Sequence[str] | None = None) -> None:
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that has no such character gets '?', not a traceback
            stream.reconfigure(errors="replace")
    sys.exit(execute(sys.argv[1:] if arguments is None else arguments, debug=bool(os.environ.get("TRAINYARD_DEBUG"))))


def execute(arguments: Sequence[str], *, debug: bool = False) -> int:
    """The exit code: 0, 1 when what was asked for did not work, 2 when it was asked wrongly."""
    try:
        listing = not arguments or arguments[0] in ("--help", "-h")
        code = build(listing=listing)(
            list(arguments), exit_on_error=False, print_error=False, result_action="return_int_as_exit_code_else_zero"
        )
        sys.stdout.flush()
        return int(code)
    except CycloptsError as error:
        return _complain(_usage_sentence(error, arguments), USAGE_ERROR, debug)
    except _expected() as error:
        return _complain(str(error), 1, debug)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Without this the interpreter complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def build(*, listing: bool = False) -> App:
    """The command tree. `listing` gives each command its summary, so that the list of commands imports none of them."""
    app = App(
        name="trainyard",
        help="Azure ML SDK v1 code on your own machines.",
        help_epilogue=EXAMPLES if listing else None,
        help_format="plaintext",
        version=__version__,
        version_flags=["--version"],
        suppress_keyboard_interrupt=False,
    )
    for order, (name, (place, summary)) in enumerate(COMMANDS.items()):
        app.command(place, name=name, sort_key=order, help=summary if listing else None)
    return app


def _expected() -> tuple[type[Exception], ...]:
    """Errors that are sentences for people. The SDK's exist only once a command has imported the SDK."""
    sdk = sys.modules.get("trainyard.sdk.errors")
    return (TrainyardError,) if sdk is None else (TrainyardError, sdk.AzureMLException)


def _usage_sentence(error: CycloptsError, arguments: Sequence[str]) -> str:
    if isinstance(error, UnknownOptionError) and arguments[0] == "run":
        option = error.token.keyword or error.token.value
        return (
            f"Unknown option: {option}. The script's own options come after `--`, as in "
            "`trainyard run train.py -- --epochs 3`; `trainyard run --help` shows those of ours."
        )
    chain = " ".join(["trainyard", *(error.command_chain or ())])
    if isinstance(error, UnusedCliTokensError):
        extra = " ".join(map(repr, error.unused_tokens or ()))
        return f"`{chain}` takes no {extra}. `{chain} --help` shows how it is said."
    return f"{str(error).strip()} `{chain} --help` shows how it is said."


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """What the SDK has to say is a sentence here, without the line of ours that called it."""
    del filename, lineno, file, line
    from trainyard.cli.output import say

    say(str(message) if issubclass(category, UserWarning) else f"{category.__name__}: {message}", "yellow")


def _complain(sentence: str, code: int, debug: bool) -> int:
    from trainyard.cli.output import errors

    if debug:
        errors().print_exception()
    errors().print(sentence, style="red", markup=False, highlight=False, soft_wrap=True)
    return code


if __name__ == "__main__":
    main()
