import json

import pytest

from trainyard.sdk.config_file import ConfigFile, find_config, read_config, write_config
from trainyard.sdk.errors import UserErrorException

GOOD = {"subscription_id": "s", "resource_group": "g", "workspace_name": "yard"}


def put(path, value=GOOD):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def test_a_file_in_a_folder_of_its_own_counts_before_a_bare_one_nearer_by(tmp_path):
    far = put(tmp_path / ".azureml" / "config.json")
    put(tmp_path / "a" / "b" / "config.json")
    assert find_config(str(tmp_path / "a" / "b")) == far


def test_the_order_of_names_is_the_sdks(tmp_path):
    order = [".azureml/config.json", ".azureml/project.json", "aml_config/config.json", "aml_config/project.json"]
    order += ["config.json", "project.json"]
    for name in reversed(order):
        path = put(tmp_path / name)
        assert find_config(str(tmp_path)) == path


def test_a_file_is_taken_as_it_is(tmp_path):
    path = put(tmp_path / "other.json")
    assert read_config(find_config(path)) == ConfigFile(path, "s", "g", "yard")


def test_a_file_of_another_name_is_looked_for_by_it(tmp_path):
    put(tmp_path / ".azureml" / "config.json")
    prod = put(tmp_path / ".azureml" / "prod.json", {**GOOD, "workspace_name": "prod"})
    assert find_config(str(tmp_path), "prod.json") == prod
    with pytest.raises(UserErrorException, match=r"No test\.json was found"):
        find_config(str(tmp_path), "test.json")


def test_the_scope_of_an_old_project_file_is_read(tmp_path):
    scope = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/yard/projects/p"
    assert read_config(put(tmp_path / "project.json", {"Scope": scope})).workspace_name == "yard"


def test_nothing_found_says_where_it_looked_and_what_to_do(tmp_path):
    with pytest.raises(UserErrorException, match=r"No config.json was found in .*write_config\(\)"):
        find_config(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{not json", "is not a readable JSON file"),
        ("[]", "must hold a JSON object"),
        ({"subscription_id": "s", "workspace_name": "w"}, "lacks resource_group"),
        ({**GOOD, "workspace_name": ""}, "lacks workspace_name"),
        ({**GOOD, "endpoint": 5}, "endpoint must be an address"),
    ],
)
def test_a_bad_file_is_named_with_the_fix(tmp_path, content, says):
    path = put(tmp_path / "config.json", content)
    with pytest.raises(UserErrorException) as caught:
        read_config(path)
    assert says in caught.value.message
    assert path in caught.value.message
    assert "write_config()" in caught.value.message


def test_written_below_azureml_unless_aml_config_is_there(tmp_path):
    said = ConfigFile("", "s", "g", "yard", "http://host:1")
    first = write_config(said, str(tmp_path), None)
    assert first == str(tmp_path / ".azureml" / "config.json")
    assert json.loads((tmp_path / ".azureml" / "config.json").read_text()) == {**GOOD, "endpoint": "http://host:1"}
    (tmp_path / "aml_config").mkdir()
    assert write_config(said, str(tmp_path), "mine.json") == str(tmp_path / "aml_config" / "mine.json")
