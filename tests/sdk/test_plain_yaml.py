import pytest

from trainyard.sdk.plain_yaml import YamlError, dumps, loads

CONDA = """\
# a conda file
name: project_environment
channels:
- conda-forge   # first
dependencies:
  - python=3.6.2
  - pip:
    - azureml-defaults~=1.15.0
    - --index-url http://host/simple
  - 'scikit-learn>=0.2'
variables: {A: 1, B: "x, y"}
empty: []
text: |
  FROM base
    RUN step
quoted: "a: b # c"
nested:
  ratio: 1.5
  nothing: ~
  yes_no: true
"""
VALUE = {
    "name": "project_environment",
    "channels": ["conda-forge"],
    "dependencies": [
        "python=3.6.2",
        {"pip": ["azureml-defaults~=1.15.0", "--index-url http://host/simple"]},
        "scikit-learn>=0.2",
    ],
    "variables": {"A": 1, "B": "x, y"},
    "empty": [],
    "text": "FROM base\n  RUN step\n",
    "quoted": "a: b # c",
    "nested": {"ratio": 1.5, "nothing": None, "yes_no": True},
}


def test_what_conda_files_hold_is_read():
    assert loads(CONDA) == VALUE


def test_what_is_written_is_read_back():
    assert loads(dumps(VALUE)) == VALUE


@pytest.mark.parametrize(
    "text", ["3.6", "true", "null", "", " x", "- x", "a: b", "#x", "'", "line\nbreak", "[1]", "1e3"]
)
def test_text_that_looks_like_something_else_stays_text(text):
    assert loads(dumps({"key": text})) == {"key": text}


def test_an_empty_document_is_none():
    assert loads("# nothing\n") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1, 2\n", 1),
        ("a: 1\n  b: 2\n", 2),
        ("a: &x 1\n", 1),
        ("- a\nb: 2\n", 2),
        ("a: 1\na: 2\n", 2),
        ("a: 'x\n", 1),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text, line):
    with pytest.raises(YamlError) as caught:
        loads(text)
    assert caught.value.line == line
