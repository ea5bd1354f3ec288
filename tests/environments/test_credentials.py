import pytest

from trainyard.environments.credentials import put_back, redacted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("error at https://ada:secret@host/simple, mail a@b.c", "error at https://****@host/simple, mail a@b.c"),
        ("git+https://key@host/a.git@v1", "git+https://****@host/a.git@v1"),
        ("https://ada:p@ss@host:8080/simple", "https://****@host:8080/simple"),
        ("https://host/t/tk-12345678/channel", "https://host/t/****/channel"),
        ("apple @ https://host/apple@1.whl", "apple @ https://host/apple@1.whl"),
        ("no address at all: a@b", "no address at all: a@b"),
    ],
)
def test_what_is_shown_has_none(text, shown):
    assert redacted(text) == shown


def test_they_are_put_back_for_the_same_place_only():
    text = "a @ https://****@host/a.whl\nb @ https://****@other/b.whl\n# conda https://host/t/****/noarch/c.conda"
    sources = ["--index-url https://ada:secret@host/simple", "https://host/t/tk-12345678/main"]
    assert put_back(text, sources) == (
        "a @ https://ada:secret@host/a.whl\nb @ https://****@other/b.whl\n"
        "# conda https://host/t/tk-12345678/noarch/c.conda"
    )
