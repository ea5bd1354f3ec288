import pytest

from trainyard.blobs.depots.patterns import fixed_folder, matches


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("a/*.csv", "a/x.csv", True),
        ("a/*.csv", "a/b/x.csv", False),
        ("a/**/*.csv", "a/x.csv", True),
        ("a/**/*.csv", "a/b/c/x.csv", True),
        ("a/**", "a/b/c", True),
        ("**", "a", True),
        ("a?.txt", "ab.txt", True),
        ("a?.txt", "abc.txt", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("a+b(1)*.txt", "a+b(1)2.txt", True),
        ("a/*", "b/x", False),
    ],
)
def test_what_fits(pattern, path, fits):
    assert matches(pattern, path) is fits


def test_where_a_look_begins():
    assert [fixed_folder(it) for it in ("a/b/*.csv", "a/b", "*", "a/**/b")] == ["a/b", "a/b", "", "a"]
