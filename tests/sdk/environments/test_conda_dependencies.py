import io

import pytest

from trainyard.sdk.environments.conda_dependencies import GPU, CondaDependencies
from trainyard.sdk.errors import UserErrorException


def test_a_blank_one_is_the_sdks():
    blank = CondaDependencies()
    assert blank.as_dict() == {
        "name": "project_environment",
        "dependencies": ["python=3.6.2", {"pip": ["azureml-defaults"]}],
        "channels": ["anaconda", "conda-forge"],
    }
    assert blank.get_python_version() == "3.6.2"


def test_given_pip_packages_replace_the_default_and_sdk_packages_are_pinned():
    made = CondaDependencies.create(pip_packages=["azureml-sdk", "numpy==1.26.4"], conda_packages=["scipy"])
    assert list(made.pip_packages) == ["azureml-sdk~=1.15.0", "numpy==1.26.4"]
    assert list(made.conda_packages) == ["python=3.6.2", "scipy"]
    assert list(CondaDependencies.create().pip_packages) == ["azureml-defaults~=1.15.0"]
    assert list(CondaDependencies.create(pin_sdk_version=False).pip_packages) == ["azureml-defaults"]


def test_a_version_of_python_is_needed_and_the_default_is_the_sdks():
    assert CondaDependencies.create(python_version=None).get_python_version() == "3.6.2"
    with pytest.raises(UserErrorException, match=r"The version of Python must be a text such as '3\.11'"):
        CondaDependencies().set_python_version(None)


@pytest.mark.parametrize("name", ["conda_packages", "pip_packages"])
def test_a_text_is_no_list_of_packages(name):
    with pytest.raises(UserErrorException, match=rf"{name} must be a list of names such as \['numpy'\], not 'scipy'"):
        CondaDependencies.create(**{name: "scipy"})


def test_a_pip_package_takes_the_place_of_its_older_self_and_a_conda_one_only_of_its_twin():
    made = CondaDependencies.create(pip_packages=["Keras==2.0"], conda_packages=["numpy"])
    made.add_pip_package("keras==2.1")
    made.add_conda_package("numpy")
    made.add_conda_package("numpy=1.2")
    assert list(made.pip_packages) == ["keras==2.1"]
    assert list(made.conda_packages) == ["python=3.6.2", "numpy", "numpy=1.2"]
    made.remove_conda_package("numpy")
    assert list(made.conda_packages) == ["python=3.6.2"]


def test_options_are_kept_apart_from_packages():
    made = CondaDependencies.create(pip_packages=["a"], pip_indexurl="http://one/")
    made.set_pip_index_url("http://two/")
    assert list(made.pip_options) == ["--index-url http://two/"]
    assert list(made.pip_packages) == ["a"]
    with pytest.raises(UserErrorException, match="set_pip_option"):
        made.add_pip_package("--pre")


def test_tensorflow_has_its_default_version():
    made = CondaDependencies()
    made.add_tensorflow_conda_package()
    made.add_tensorflow_pip_package(GPU, "2.0.0")
    assert "tensorflow=1.13.1" in made.conda_packages
    assert "tensorflow-gpu==2.0.0" in made.pip_packages


def test_saved_and_read_again(tmp_path):
    made = CondaDependencies.create(conda_packages=["scipy"])
    assert made.save_to_file(str(tmp_path), "env.yml") == "env.yml"
    assert CondaDependencies(str(tmp_path / "env.yml")).as_dict() == made.as_dict()
    made.remove_conda_package("python")
    with pytest.raises(UserErrorException, match="names no Python"):
        made.save(str(tmp_path))


def test_unknown_keys_are_refused(tmp_path):
    (tmp_path / "env.yml").write_text("dependencies: [python]\nchanels: [x]\n")
    with pytest.raises(UserErrorException, match="chanels"):
        CondaDependencies(str(tmp_path / "env.yml"))


def test_requirements_of_one_package_are_merged():
    assert CondaDependencies.merge_requirements(["a>=1", "b", "a<2"]) == ["a>=1,<2", "b"]


def test_a_blank_one_says_in_words_what_it_is():
    blank = CondaDependencies()
    blank.set_python_version("3.11")
    blank.add_conda_package("numpy")
    assert blank.serialize_to_string() == (
        "# What a run needs: this environment is built for it unless userManagedDependencies is set.\n"
        "# The format is that of conda's environment files.\n"
        "name: project_environment\n"
        "dependencies:\n"
        "# The Python version. The default is a wish: a newer Python takes its place where that one is not to be had.\n"
        "- python=3.11\n"
        "- numpy\n"
        "- pip:\n"
        "  - azureml-defaults\n"
        "channels:\n"
        "- anaconda\n"
        "- conda-forge\n"
    )


def test_the_comments_of_a_file_survive():
    head = "# mine\nname: x\ndependencies:\n- python=3.11\n"
    text = head + "# for the plots\n- matplotlib\n- pip:\n  # pinned\n  - a==1\n# end\n"
    made = CondaDependencies(io.StringIO(text))
    assert made.serialize_to_string() == text
    made.add_pip_package("a==2")
    made.remove_conda_package("matplotlib")
    assert made.serialize_to_string() == (
        "# mine\nname: x\ndependencies:\n- python=3.11\n- pip:\n  # pinned\n  - a==2\n# end\n"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dependencies: [", "line 1"),
        ("- a\n- b\n", "is not a conda specification"),
        ("dependencies: numpy\n", "must be a list of packages"),
        ("dependencies:\n- {npm: [a]}\n", "must be a list of packages"),
        ("variables: [a]\ndependencies: []\n", "variables must be names with values"),
        ("dependencies:\n- pip: six\n", "must be a list of packages"),
        ("dependencies:\n- pip:\n  - six: 1\n", "must be a list of packages"),
        ("dependencies:\n- pip: [six]\n- pip: [idna]\n", "more than one `pip:` list"),
    ],
)
def test_a_file_that_is_no_conda_specification(text, says):
    with pytest.raises(UserErrorException, match=says):
        CondaDependencies(io.BytesIO(text.encode()))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserErrorException, match="Cannot read the conda file"):
        CondaDependencies(str(tmp_path / "missing.yml"))
    (tmp_path / "odd.yml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserErrorException, match="not text in UTF-8"):
        CondaDependencies(str(tmp_path / "odd.yml"))


def test_addresses_are_packages_of_their_own():
    made = CondaDependencies.create(pip_packages=["file:///a/x-1.whl", "named @ https://host/x.whl"])
    made.add_pip_package("file:///a/y-1.whl")
    made.add_pip_package("named==2")
    assert list(made.pip_packages) == ["file:///a/x-1.whl", "file:///a/y-1.whl", "named==2"]


def test_options_that_may_be_there_more_than_once():
    made = CondaDependencies.create(pip_packages=["a"])
    for option in ("--extra-index-url http://one/", "--extra-index-url http://two/", "--extra-index-url http://one/"):
        made.set_pip_option(option)
    assert sorted(made.pip_options) == ["--extra-index-url http://one/", "--extra-index-url http://two/"]
    made.remove_pip_option("--extra-index-url")
    assert list(made.pip_options) == []
