"""pip's options and settings, and what they are to uv."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.environments.options import PipOptions, for_uv, of_machine, parse_option


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--index-url https://a/simple", PipOptions(index_url="https://a/simple")),
        ("--index-url=https://a/simple?x=1", PipOptions(index_url="https://a/simple?x=1")),
        ("-i https://a", PipOptions(index_url="https://a")),
        ("--extra-index-url https://b", PipOptions(extra_index_urls=("https://b",))),
        ("-f /a --find-links /b", PipOptions(find_links=("/a", "/b"))),
        ("-c /c.txt", PipOptions(constraints=("/c.txt",))),
        ("--pre", PipOptions(pre=True)),
        ("--no-index", PipOptions(no_index=True)),
        ("--only-binary a,b", PipOptions(only_binary=("a", "b"))),
        ("--prefer-binary", PipOptions()),
    ],
)
def test_a_line(line: str, options: PipOptions) -> None:
    assert parse_option(PipOptions(), line) == options


def test_the_machines_settings_are_pips_own(tmp_path: Path) -> None:
    named = tmp_path / "pip.conf"
    named.write_text(
        "[global]\nindex-url = https://global\nextra-index-url = https://x\n  https://y\n[install]\npre = 1\n"
    )
    here = {"HOME": str(tmp_path), "VIRTUAL_ENV": str(tmp_path), "PIP_CONFIG_FILE": str(named)}
    said = of_machine(here)
    assert (said.index_url, said.extra_index_urls[-2:]) == ("https://global", ("https://x", "https://y"))
    said = of_machine({**here, "PIP_INDEX_URL": "https://variable", "PIP_FIND_LINKS": "/a /b", "PIP_CERT": "/c.pem"})
    assert (said.index_url, said.find_links, said.certificate) == ("https://variable", ("/a", "/b"), "/c.pem")


def test_settings_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("not a configuration")
    assert (
        of_machine({"HOME": "/nowhere", "VIRTUAL_ENV": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null"}) == PipOptions()
    )
    of_machine({"HOME": "/nowhere", "VIRTUAL_ENV": str(tmp_path)})


def test_a_wish_goes_before_the_machine() -> None:
    machine = PipOptions(index_url="https://m", extra_index_urls=("https://e",), find_links=("/m",))
    assert PipOptions(index_url="https://w", find_links=("/w",)).over(machine) == PipOptions(
        index_url="https://w", extra_index_urls=("https://e",), find_links=("/w", "/m")
    )
    assert PipOptions(no_index=True, find_links=("/w",)).over(machine).find_links == ("/w",)


def test_what_uv_is_told() -> None:
    options = PipOptions("https://i", ("https://e", "https://f"), ("/a", "/b"), pre=True, certificate="/c.pem")
    assert for_uv(options) == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://i",
        "UV_INDEX": "https://e https://f",
        "UV_FIND_LINKS": "/a,/b",
        "UV_PRERELEASE": "allow",
        "SSL_CERT_FILE": "/c.pem",
    }
