from trainyard.sdk.other_sdk import other_sdk


def test_microsofts_packages_are_found_on_the_path(tmp_path):
    for name in (
        "azureml_core-1.15.0.dist-info",
        "azureml_train_core-1.62.0.post1.dist-info",
        "azure_core-1.0.dist-info",
    ):
        (tmp_path / name).mkdir()
    assert other_sdk([str(tmp_path), str(tmp_path / "gone.zip")]) == ["azureml-core", "azureml-train-core"]
    assert other_sdk([]) == []
