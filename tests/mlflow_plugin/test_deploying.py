"""What a service of a model that MLflow logged is run in."""

from __future__ import annotations

HEAD = """\
import json, os, warnings, zipfile
warnings.filterwarnings("ignore")
from trainyard.mlflow_plugin.deploying import environment_of

def logged(name, requirements, keras=None):
    os.makedirs(f"{name}/data")
    with open(f"{name}/MLmodel", "w") as file:
        file.write("flavors: {}\\n")
    with open(f"{name}/requirements.txt", "w") as file:
        file.write(requirements)
    if keras is not None:
        with zipfile.ZipFile(f"{name}/data/model.keras", "w") as file:
            file.writestr("metadata.json", json.dumps({"keras_version": keras}))
    made = environment_of("scoring", os.path.abspath(name))
    pip = [one for one in made.python.conda_dependencies.pip_packages if not one.startswith("azureml")]
    return [made.environment_variables.get("TF_USE_LEGACY_KERAS"), *pip]
"""


def test_a_model_of_keras_two_gets_keras_two(told) -> None:
    """MLflow's requirements do not tell the two apart, and neither reads the other's files."""
    found = told(
        """
print(json.dumps([
    logged("three", "tensorflow==2.21.0\\n", "3.15.0"),
    logged("two", "tensorflow==2.21.0\\n", "2.21.0"),
    logged("plain", "numpy\\n", "2.4.0"),
    logged("none", "numpy\\n"),
]))""",
        head=HEAD,
    )
    assert found == [
        [None, "tensorflow==2.21.0", "pandas"],
        ["1", "tensorflow==2.21.0", "tf-keras==2.21.*", "pandas"],
        ["1", "numpy", "tf-keras", "pandas"],
        [None, "numpy", "pandas"],
    ]
