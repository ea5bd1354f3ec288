import inspect
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator

import pytest
from cyclopts import App

from trainyard.cli.main import COMMANDS, build, execute, main
from trainyard.cli.server import is_loopback


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINYARD_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRAINYARD_ENDPOINT", raising=False)
    monkeypatch.chdir(tmp_path)


def test_help_names_every_command(capsys):
    assert execute(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert f"│ {name} " in shown


@pytest.mark.parametrize("name", [*COMMANDS])
def test_every_command_has_help_with_a_summary(name, capsys):
    assert execute([name, "--help"]) == 0
    assert "Usage: trainyard " + name in capsys.readouterr().out


def test_every_command_about_runs_says_what_it_does(capsys):
    assert execute(["runs", "--help"]) == 0
    shown = capsys.readouterr().out
    for name in ("cancel", "compare", "delete", "list", "logs", "plot", "search", "show", "top"):
        assert re.search(rf"│ {name} +[A-Z]", shown), name


def texts_of(app: App) -> Iterator[tuple[str, str]]:
    """Every command's help as it is written."""
    for name in app:
        command = app[name]
        if command.default_command is not None and not name.startswith("-"):
            yield name, inspect.getdoc(command.default_command) or ""
        elif not name.startswith("-"):
            yield from texts_of(command)


def test_no_line_of_help_is_broken_in_a_terminal_of_80_columns():
    """The first line of a paragraph that has no other may be: it reads on below."""
    known = dict(texts_of(build()))
    assert {"run", "logs", "preempt"} <= known.keys()
    for name, said in known.items():
        for paragraph in said.split("\n\n"):
            lines = paragraph.splitlines()
            if len(lines) > 1 or paragraph.startswith(" "):
                assert max(map(len, lines)) <= 80, name


def test_help_lists_the_commands_without_importing_them():
    code = (
        "import sys; from trainyard.cli.main import execute; execute(['--help'])\n"
        "print([m for m in sys.modules if m.startswith('trainyard.sdk') or m == 'trainyard.cli.runs'])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["bogus"], "bogus"),
        (["stop", "--al"], "--all"),
        (["run"], "SCRIPT"),
        (["runs", "list", "--limit", "x"], "x"),
        (["runs", "list", "--limit", "0"], "`trainyard runs list --help` shows"),
        (["status", "extra"], "'extra'"),
    ],
)
def test_what_was_said_wrongly_ends_with_2_and_one_sentence(arguments, word, capsys):
    assert execute(arguments) == 2
    said = capsys.readouterr().err
    assert word in said
    assert said.endswith("--help` shows how it is said.\n")
    assert "Traceback" not in said


def test_a_scripts_option_on_our_side_is_told_where_it_belongs(capsys):
    assert execute(["run", "train.py", "--epochs", "3"]) == 2
    assert capsys.readouterr().err.startswith("Unknown option: --epochs. The script's own options come after `--`,")


def test_a_users_mistake_ends_with_1_and_no_traceback(capsys):
    assert execute(["run", "missing.py"]) == 1
    said = capsys.readouterr().err
    assert said == "There is no file 'missing.py' here. Give the path of a Python script.\n"


def test_a_terminal_without_the_characters_gets_others():
    code = "from trainyard.cli.main import main; main(['doctor'])"
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.startswith("? python ")
    assert done.stderr == ""


def test_what_the_sdk_warns_of_is_a_sentence(capsys, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # ours is taken back afterwards
    with pytest.raises(SystemExit):
        main(["--version"])
    warnings.showwarning(UserWarning("Mind this."), UserWarning, "run.py", 155)
    assert capsys.readouterr().err == "Mind this.\n"


def test_debug_shows_the_traceback_too(capsys):
    assert execute(["run", "missing.py"], debug=True) == 1
    assert "Traceback" in capsys.readouterr().err


def test_status_says_that_nothing_runs_and_starts_nothing(tmp_path, capsys):
    assert execute(["status"]) == 1
    said = capsys.readouterr().out
    assert said.replace("\n", "").startswith(f"No service runs for {tmp_path / 'home'}")
    assert not (tmp_path / "home").exists()


def test_stopping_nothing_is_not_an_error(capsys):
    assert execute(["stop"]) == 0
    assert capsys.readouterr().out.startswith("No service runs for")


def test_a_server_for_other_machines_needs_the_operators_word(capsys):
    assert execute(["server", "--host", "0.0.0.0"]) == 1
    assert "--expose" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("127.9.9.9", True), ("0.0.0.0", False), ("box", False)],
)
def test_only_what_is_surely_loopback_counts(host, loopback):
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell, capsys):
    assert execute(["completion", shell]) == 0
    shown = capsys.readouterr().out
    assert "doctor" in shown
    assert "preempt" in shown
