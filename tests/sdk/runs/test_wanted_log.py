from trainyard.sdk.runs.run_stream import wanted_log

PREP, DRIVER, POST = (
    f"azureml-logs/{name}.txt" for name in ("65_job_prep-node-0", "70_driver_log", "75_job_post-node-0")
)


def test_the_last_log_is_wanted():
    assert wanted_log([PREP], set()) == PREP
    assert wanted_log([PREP, DRIVER], {PREP}) == DRIVER
    assert wanted_log([PREP, DRIVER, POST], {PREP, DRIVER}) == POST
    assert wanted_log(["outputs/model.txt"], set()) is None


def test_what_the_program_wrote_is_not_passed_over_when_it_was_quick():
    assert wanted_log([PREP, DRIVER, POST], set()) == DRIVER


def test_of_several_processes_the_first_is_wanted():
    names = [f"azureml-logs/70_driver_log_{rank}.txt" for rank in (2, 0, 1)]
    assert wanted_log([*names, POST], set()) == "azureml-logs/70_driver_log_0.txt"
