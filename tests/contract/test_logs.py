"""Log names, and which of them is streamed."""

from __future__ import annotations

import pytest

from trainyard.contract import logs


def test_names() -> None:
    assert logs.driver(0, 1) == "azureml-logs/70_driver_log.txt"
    assert logs.driver(3, 4) == "azureml-logs/70_driver_log_3.txt"
    assert logs.execution("n0") == "azureml-logs/55_azureml-execution-n0.txt"
    assert logs.job_prep("n0") == "azureml-logs/65_job_prep-n0.txt"
    assert logs.job_post("n0") == "azureml-logs/75_job_post-n0.txt"


@pytest.mark.parametrize(
    ("names", "streamed"),
    [
        ([], None),
        (["outputs/a.txt", "logs/azureml/x.log"], None),
        (["azureml-logs/20_image_build_log.txt"], "azureml-logs/20_image_build_log.txt"),
        (
            ["azureml-logs/20_image_build_log.txt", "azureml-logs/55_azureml-execution-n.txt"],
            "azureml-logs/55_azureml-execution-n.txt",
        ),
        (
            ["azureml-logs/70_driver_log.txt", "azureml-logs/65_job_prep-n.txt", "azureml-logs/55_x.txt"],
            "azureml-logs/70_driver_log.txt",
        ),
        (["azureml-logs/70_driver_log_10.txt", "azureml-logs/70_driver_log_2.txt"], "azureml-logs/70_driver_log_2.txt"),
        (["azureml-logs/70_driver_log_1.txt", "azureml-logs/70_driver_log_0.txt"], "azureml-logs/70_driver_log_0.txt"),
        (
            ["azureml-logs/70_driver_log_worker_1.txt", "azureml-logs/70_driver_log_worker_0.txt"],
            "azureml-logs/70_driver_log_worker_0.txt",
        ),
        (
            ["user_logs/std_log_1.txt", "user_logs/std_log_0.txt", "azureml-logs/70_driver_log.txt"],
            "user_logs/std_log_0.txt",
        ),
        (["azureml-logs/process_info.json", "azureml-logs/7_x.txt"], None),
    ],
)
def test_streamed(names: list[str], streamed: str | None) -> None:
    assert logs.streamed(names) == streamed
    assert logs.streamed(reversed(names)) == streamed


@pytest.mark.parametrize(
    ("names", "rank", "processes", "log"),
    [
        (["azureml-logs/70_driver_log.txt"], 0, 1, "azureml-logs/70_driver_log.txt"),
        (
            ["azureml-logs/70_driver_log_0.txt", "azureml-logs/70_driver_log_1.txt"],
            1,
            2,
            "azureml-logs/70_driver_log_1.txt",
        ),
        ([], 0, 1, "azureml-logs/70_driver_log.txt"),
        ([], 0, 2, "azureml-logs/70_driver_log_0.txt"),
        ([], 3, 2, "azureml-logs/70_driver_log_3.txt"),
    ],
)
def test_the_log_of_a_rank(names, rank, processes, log):
    assert logs.chosen(names, rank, processes) == log
