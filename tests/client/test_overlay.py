import os

from trainyard.client import overlay


def test_a_job_finds_the_curated_environments(tmp_path):
    made = overlay.ensure(str(tmp_path))
    curated = os.path.join(made.first, "trainyard", "sdk", "environments", "curated")
    assert os.path.isfile(os.path.join(curated, "AzureML-Minimal.yml"))
