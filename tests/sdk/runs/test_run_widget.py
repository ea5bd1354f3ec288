"""RunDetails: what it tells of a run, its text, a headless notebook with it, and its JavaScript in a real browser."""

import contextlib
import functools
import http.server
import importlib.util
import json
import shutil
import threading

import nbformat
import pytest
from nbclient import NotebookClient

from azureml.train.hyperdrive import GridParameterSampling, HyperDriveConfig, PrimaryMetricGoal, choice
from azureml.train.widgets import RunDetails as Early
from azureml.widgets import RunDetails
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.runs import run_view
from trainyard.sdk.runs.run_text import text_of
from trainyard.sdk.runs.run_view import RunView
from trainyard.sdk.runs.thin import thinned
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
browser_needed = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    reason="needs Chromium and the package playwright: apt-get install chromium, pip install playwright",
)

# Draws what `/state` says, and again whenever it has changed: the widget's own way, with a page for a notebook.
PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="run_details.css"><div id="el"></div>
<script type="module">
import widget, * as parts from "./run_details.js";
const state = {}, heard = {};
const ask = async () => {
  for (const [name, value] of Object.entries(await (await fetch("state")).json())) {
    if (JSON.stringify(state[name]) === JSON.stringify(value)) continue;
    state[name] = value;
    (heard[`change:${name}`] || []).forEach((call) => call());
  }
};
await ask();
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  save_changes: () => { window.saved = { ...state }; },
  on: (name, call) => { (heard[name] = heard[name] || []).push(call); },
  off: (name, call) => { heard[name] = (heard[name] || []).filter((each) => each !== call); },
};
window.stop = widget.render({ model, el: document.getElementById("el") });
window.parts = parts;
setInterval(ask, 50);
</script>"""


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture
def run(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = Experiment(workspace, "shown").start_logging(snapshot_directory=None, display_name="third try")
    yield run
    run.complete()


def sweep(run):
    for number, rate in enumerate((0.1, 0.01, 0.001)):
        with run.child_run(f"trial {number}") as child:
            child.tag("hyperparameters", json.dumps({"lr": rate, "same": 1}))
            child.log("accuracy", 0.5 + number / 10)


def test_what_a_run_logged_is_told_as_what_it_is(run):
    for step in range(3):
        run.log("loss", 1.0 - step / 4, step=10 * step, description="smaller is better")
    run.log("odd", float("nan"))
    run.log("name", "adam")
    run.log_row("row", a=1, b="x")
    run.log_row("row", a=2)
    run.log_confusion_matrix(
        "matrix", {"schema_type": "confusion_matrix", "schema_version": "1", "data": {"matrix": [[1, float("inf")]]}}
    )
    view = RunDetails(run).get_widget_data()
    metrics = {metric["name"]: metric for metric in view["metrics"]}
    assert metrics["loss"]["points"] == [(0, 1.0), (10, 0.75), (20, 0.5)]
    assert (metrics["loss"]["min"], metrics["loss"]["max"], metrics["loss"]["last"]) == (0.5, 1.0, 0.5)
    assert metrics["loss"]["about"] == "smaller is better"
    assert (metrics["odd"]["last"], metrics["odd"]["points"]) == ("nan", [])
    assert (metrics["name"]["kind"], metrics["name"]["last"]) == ("text", "adam")
    assert metrics["row"]["columns"] == {"a": [1, 2], "b": ["x", None]}
    assert metrics["matrix"]["matrix"] == {"matrix": [[1, None]]}
    json.dumps(view, allow_nan=False)  # a browser reads it


def test_a_long_series_is_thinned_out_by_the_service(run):
    for step in range(6000):
        run.log("long", float(step % 100), step=step)
    (metric,) = RunDetails(run).get_widget_data()["metrics"]
    assert (metric["count"], metric["min"], metric["max"], metric["last"]) == (6000, 0.0, 99.0, 99.0)
    assert len(metric["points"]) <= 400
    assert (metric["points"][0], metric["points"][-1]) == ((0, 0.0), (5999, 99.0))


def test_only_what_changed_is_told_again(run):
    view = RunView(run)
    assert set(view.look()) == {"run", "metrics", "system", "log", "children"}
    assert view.look() == {}
    run.log("loss", 1.0)
    assert set(view.look()) == {"metrics"}


def test_the_end_of_a_log_is_read_once(run, monkeypatch):
    monkeypatch.setattr(run_view, "LOG_TAIL", 10)
    bytes_of = {"azureml-logs/70_driver_log.txt": b"0123456789abcdef"}
    asked = []

    class Runs:
        def files(self, _):
            return [type("F", (), {"name": name, "size": len(data), "digest": None}) for name, data in bytes_of.items()]

        def read_log(self, _, name, offset):
            asked.append(offset)
            return bytes_of[name][offset:]

    view = RunView(type("R", (), {"_runs": Runs(), "id": "r"}))
    assert view._tail(Runs().files("r"))["text"] == "6789abcdef"
    assert view._tail(Runs().files("r"))["text"] == "6789abcdef"
    bytes_of["azureml-logs/70_driver_log.txt"] += b"gh"
    shown = view._tail(Runs().files("r"))
    assert (shown["text"], shown["cut"], asked) == ("89abcdefgh", True, [6, 16])


def test_runs_below_it_come_with_what_they_were_given_and_found(run):
    sweep(run)
    children = RunDetails(run).get_widget_data()["children"]
    assert [row["name"] for row in children["rows"]] == ["trial 0", "trial 1", "trial 2"]
    assert children["params"] == ["lr"]  # the other was the same for all
    assert children["rows"][1]["params"] == {"lr": "0.01", "same": "1"}
    assert children["rows"][2]["metrics"] == {"accuracy": 0.7}


def test_outside_of_a_notebook_it_is_text(run, capsys):
    run.log("loss", 1.0)
    run.log("loss", 0.25)
    run.log("name", "adam")
    sweep(run)
    assert Early(run).show() is None
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("third try  Running  0:0")
    assert printed[1:3] == [f"  id          {run.id}", "  experiment  shown, number " + str(run.number)]
    assert "  loss  0.25  (2 values, 0.25 to 1)" in printed
    assert "  name  adam" in printed
    assert "  trial 1  Completed  lr=0.01  accuracy=0.6" in printed


def test_only_a_run_is_shown():
    with pytest.raises(UserErrorException, match="not a str"):
        RunDetails("run")


@pytest.mark.parametrize(
    ("points", "kept"),
    [
        ([(0, 1.0), (1, 2.0)], [(0, 1.0), (1, 2.0)]),
        ([(x, 9.0 if x == 5 else 0.0) for x in range(9)], [(0, 0.0), (1, 0.0), (5, 9.0), (8, 0.0)]),
    ],
)
def test_thinned_lines_keep_their_peaks(points, kept):
    assert thinned(points, 4) == kept


def test_a_headless_notebook_shows_it(run, home):
    run.log("loss", 0.5)
    run.flush()
    cell = nbformat.v4.new_code_cell(
        "from azureml.core import Workspace, Run\n"
        "from azureml.widgets import RunDetails\n"
        f"run = Run.get(Workspace.get('yard'), {run.id!r})\n"
        "RunDetails(run).show()"
    )
    notebook = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    (shown,) = [output for output in cell.outputs if output["output_type"] == "display_data"]
    assert "application/vnd.jupyter.widget-view+json" in shown["data"]
    assert "  loss  0.5" in shown["data"]["text/plain"]
    model = shown["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"][model]["state"]
    assert state["run"]["id"] == run.id
    assert [metric["name"] for metric in state["metrics"]] == ["loss"]


@pytest.fixture
def page(tmp_path):
    """A page that draws the state at `page.look()`, kept up to date as the widget keeps a notebook."""
    from playwright.sync_api import sync_playwright

    (tmp_path / "www").mkdir()
    (tmp_path / "www/index.html").write_text(PAGE)
    (tmp_path / "www/run_details.js").write_text(run_view.script())
    (tmp_path / "www/run_details.css").write_text(run_view.asset("run_details.css"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page, errors = browser.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        with serving(str(tmp_path / "www"), page):
            yield page
        assert errors == []
        browser.close()


class serving:  # noqa: N801 - a with-block's verb
    def __init__(self, folder, page):
        self.page, self.state = page, {}
        outer = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                if self.path != "/state":
                    return super().do_GET()
                body = json.dumps(outer.state).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):  # the page has gone on
                    self.wfile.write(body)
                return None

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.page.show = self.show
        self.page.renew = self.state.update

    def __exit__(self, *_):
        self.page.evaluate("window.stop && window.stop()")
        self.page.close()
        self.server.shutdown()
        self.server.server_close()

    def show(self, state):
        self.state.update(state)
        self.page.goto(f"http://127.0.0.1:{self.server.server_address[1]}/")
        self.page.wait_for_selector(".ty-run")


@browser_needed
def test_a_new_point_appears(run, page):
    view = RunView(run)
    run.log("loss", 1.0)
    run.log("loss", 0.5)
    view.look()
    page.show(view.whole())
    dots = page.locator("section[data-name=loss] circle.ty-dot")
    assert dots.count() == 2
    assert page.text_content("section[data-name=loss] output") == "0.5"
    assert page.text_content(".ty-state") == "Running"
    run.log("loss", 0.125)
    page.renew(view.look())
    page.wait_for_function("document.querySelectorAll('section[data-name=loss] circle.ty-dot').length === 3")
    assert page.text_content("section[data-name=loss] output") == "0.125"
    run.complete()
    page.renew(view.look())
    page.wait_for_function("document.querySelector('.ty-state').textContent === 'Completed'")
    page.hover("section[data-name=loss] svg")
    assert page.text_content("section[data-name=loss] .ty-tip").startswith("# 1")


@browser_needed
def test_runs_below_it_are_lines_and_rows_that_are_sorted(run, page):
    sweep(run)
    page.show(RunDetails(run).get_widget_data())
    assert page.locator(".ty-parallel .ty-thread").count() == 3
    assert page.locator(".ty-parallel .ty-label").all_text_contents() == ["lr", "accuracy"]
    first = "document.querySelector('.ty-runs tbody td').textContent"
    assert page.evaluate(first) == "trial 0"
    page.click(".ty-runs th:has-text('lr')")
    assert page.evaluate(first) == "trial 2"
    page.click(".ty-runs th:has-text('lr')")
    assert page.evaluate(first) == "trial 0"
    page.set_viewport_size({"width": 480, "height": 700})
    page.click("button[data-tab=log]")
    page.click("button[data-tab=runs]")
    drawn, wanted = page.locator(".ty-parallel").evaluate("(e) => [e.clientWidth, e.viewBox.baseVal.width]")
    assert abs(drawn - wanted) < 4  # its words are as large as all others, however narrow the notebook
    page.hover(".ty-runs tbody tr:nth-child(2)")
    assert page.get_attribute(".ty-lit", "data-run") == page.get_attribute(".ty-runs tbody tr:nth-child(2) td", "title")


@browser_needed
def test_a_sweep_begins_with_its_best_run(workspace, page, tmp_path):
    """Its best value counts, not its last: every run here is at its best before it ends."""
    (tmp_path / "train.py").write_text(
        "import sys\nfrom azureml.core import Run\nrate, run = float(sys.argv[2]), Run.get_context()\n"
        "run.log('error', rate)\nrun.log('error', 2 - rate)\nrun.log_table('not a number', {'a': [1]})\n"
    )
    own = Environment("own")
    own.python.user_managed_dependencies = True
    sampling = GridParameterSampling({"--rate": choice(0.5, 0.1, 0.9), "units": choice(16, 64)})
    sweep = HyperDriveConfig(
        run_config=ScriptRunConfig(str(tmp_path), "train.py", environment=own),
        hyperparameter_sampling=sampling,
        primary_metric_name="error",
        primary_metric_goal=PrimaryMetricGoal.MINIMIZE,
        max_total_runs=6,
    )
    run = Experiment(workspace, "sweep").submit(sweep)
    run.wait_for_completion()
    view = RunDetails(run).get_widget_data()
    assert view["children"]["params"] == ["rate", "units"]  # each once, with or without its dashes
    page.show(view)
    assert page.locator(".ty-parallel .ty-label").all_text_contents() == ["rate", "units", "error"]
    marks = page.locator(".ty-parallel .ty-tick").all_text_contents()
    assert marks[:6] == [
        "0.1",
        "0.5",
        "0.9",
        "16",
        "64",
        "smaller is better",
    ]  # options are named, nothing between them
    assert page.text_content(".ty-runs .ty-sorted") == "error ↑"
    assert page.locator(".ty-runs tbody td:nth-child(5)").all_text_contents() == ["0.1"] * 2 + ["0.5"] * 2 + ["0.9"] * 2
    best = run.get_best_run_by_primary_metric().id
    assert page.locator(".ty-thread.ty-best").get_attribute("data-run") == best
    assert page.locator(".ty-leads td:first-child").get_attribute("title") == best
    said = page.locator(".ty-found .ty-tile").all_text_contents()
    assert said[:2] == ["runs over6 of 6", "best error0.1"]
    assert said[3] == "rate0.1"


@browser_needed
def test_a_sweep_says_which_runs_were_stopped_and_shows_ranges_on_their_own_scale(page):
    def row(number, rate, value, **more):
        params = {"--lr": str(rate)}
        known = {"id": f"HD_1_{number}", "name": None, "number": number, "status": "Completed", "over": True}
        return (
            known | {"started": 0, "ended": 1000, "params": params, "metrics": {"acc": value}, "stopped": None} | more
        )

    why = "at interval 1 its best is 0.2"
    rows = [row(0, 0.03, 0.5), row(1, 0.1, 0.9), row(2, 0.3, 0.2, status="Canceled", stopped=why), row(3, 0.05, None)]
    primary = {"name": "acc", "smaller": False, "space": ["lr"], "logarithmic": ["lr"], "total": 9, "best": "HD_1_1"}
    children = {"rows": rows, "primary": primary, "params": ["--lr"], "metrics": ["acc"]}
    page.show({"metrics": [], "system": [], "run": {}, "log": {}, "children": children})
    assert page.locator(".ty-runs tbody td:nth-child(2)").all_text_contents() == [
        *("Completed", "Completed", "Stopped", "Completed"),
    ]
    assert page.get_attribute(".ty-runs tbody tr:nth-child(3) td:nth-child(2)", "title") == why
    assert page.locator(".ty-found .ty-tile").all_text_contents()[:2] == ["runs over4 of 9", "stopped early1"]
    assert page.locator(".ty-parallel g:first-of-type .ty-tick").all_text_contents() == ["0.05", "0.1", "0.2"]
    assert page.locator(".ty-thread").last.get_attribute("data-run") == "HD_1_1"  # the best is drawn over the others
    assert page.evaluate("window.parts.logTicks(1e-6, 0.5)") == [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1]


@browser_needed
def test_a_distributed_run_has_a_log_for_each_rank(workspace, page, tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, time\nrank = os.environ['RANK']\nfor n in range(3):\n    print(f'\\r{n}', end='')\n"
        "print(f'\\rrank {rank} <b>said</b>')\ntime.sleep(4)\n"
    )
    own = Environment("own")
    own.python.user_managed_dependencies = True
    from trainyard.sdk.submitting.runconfig import PyTorchConfiguration

    spread = PyTorchConfiguration(process_count=2, node_count=1)
    script = ScriptRunConfig(str(tmp_path), "train.py", environment=own, distributed_job_config=spread)
    submitted = Experiment(workspace, "ranks").submit(script)
    submitted.wait_for_completion()
    view = RunView(submitted)
    view.look()
    page.show(view.whole())
    page.click("button[data-tab=log]")
    assert page.text_content("pre.ty-log") == "rank 0 <b>said</b>\n"
    page.select_option(".ty-body select", "azureml-logs/70_driver_log_1.txt")
    view.chosen_log = page.evaluate("window.saved.chosen_log")
    page.renew(view.look())
    page.wait_for_function("document.querySelector('pre.ty-log').textContent.startsWith('rank 1')")
    page.click("button[data-tab=system]")
    assert page.locator(".ty-body h5").all_text_contents() == ["node-0", "2 ranks"]
    of_ranks = page.locator("section[data-name='memory, each rank']")
    assert of_ranks.locator("path.ty-line, circle.ty-dot").count() == 2
    assert of_ranks.locator(".ty-legend span").all_text_contents() == ["rank-0", "rank-1"]
    assert list(submitted.follow_log(rank=1)) == ["\r0\r1\r2\rrank 1 <b>said</b>"]


@browser_needed
def test_a_list_that_is_open_stays_open_while_the_log_grows(page):
    log = {"names": ["rank 0", "rank 1"], "name": "rank 0", "text": "one\n", "cut": False}
    page.show({"metrics": [], "system": [], "run": {"over": False}, "log": log, "children": {}})
    page.click("button[data-tab=log]")
    page.evaluate("window.list = document.querySelector('.ty-body select')")
    page.renew({"log": log | {"text": "one\ntwo\n"}, "system": [{"name": "node-0/cpu_percent", "points": [[0, 1.0]]}]})
    page.wait_for_function("document.querySelector('pre.ty-log').textContent === 'one\\ntwo\\n'")
    assert page.evaluate("window.list.isConnected")
    page.renew({"log": log | {"names": ["rank 0", "rank 1", "rank 2"]}})
    page.wait_for_function("document.querySelectorAll('.ty-body option').length === 3")


@browser_needed
def test_a_failure_shows_the_last_line_it_wrote_and_each_phase_once(page):
    phases = [
        {"status": "Queued", "at": 0, "reason": "waits"},
        {"status": "Running", "at": 1000, "reason": "started"},
        {"status": "Running", "at": 2000, "reason": "all ranks have started"},
        {"status": "Failed", "at": 5000, "reason": "broke"},
    ]
    told = {"id": "r", "status": "Failed", "over": True, "created": 0, "started": 1000, "ended": 5000, "tags": {}}
    error = {"message": "It broke.", "lines": [f"line {n}" for n in range(50)]}
    run = told | {"phases": phases, "warnings": [], "error": error}
    none = {"name": "none", "kind": "text", "about": None, "last": None}
    page.show({"metrics": [none], "system": [], "run": run, "log": {}, "children": {}})
    assert page.locator(".ty-phase").all_text_contents() == ["Queued 1.0 s", "Running 4.0 s"]
    assert page.evaluate("(e => e.scrollTop + e.clientHeight > e.scrollHeight - 1)(document.querySelector('pre'))")
    assert page.text_content("[data-name=none] b") == "None"


@browser_needed
def test_rows_stand_as_they_were_logged_and_a_run_that_logged_nothing_opens_with_its_log(run, page):
    for each in ("one", "two", "three"):
        run.log_row("rows", word=each)
    page.show(RunDetails(run).get_widget_data())
    assert page.locator("section[data-name=rows] tbody td").all_text_contents() == ["one", "two", "three"]
    page.show(
        {
            "metrics": [],
            "system": [],
            "run": {"over": True},
            "log": {"name": "l", "names": ["l"], "text": "broke"},
            "children": {},
        }
    )
    assert page.locator("nav button").all_text_contents() == ["Log"]
    assert page.text_content("pre.ty-log") == "broke"


@browser_needed
def test_tables_of_a_schema_are_curves_and_bars(run, page):
    thresholds = {"probability_thresholds": [0, 1], "percentile_thresholds": [0, 1], "percentile_tables": []}
    tables = {"probability_tables": [[[9, 9, 0, 0], [0, 0, 9, 9]]], "class_labels": ["cat"], **thresholds}
    for kind, data in (("accuracy_table", tables), ("residuals", {"bin_edges": [0, 1, 2], "bin_counts": [2, 1]})):
        logged = {"schema_type": kind, "schema_version": "1", "data": data}
        getattr(run, f"log_{kind}")(kind, logged)
    run.log_row("one", a=1)
    run.log("n" * 300, 1.0)
    page.show(RunDetails(run).get_widget_data())
    assert page.locator("section[data-name=accuracy_table] path.ty-line").count() == 2
    assert page.text_content("section[data-name=accuracy_table] .ty-legend") == "cat"
    assert page.locator("section[data-name=residuals] rect.ty-bar").count() == 2
    assert page.text_content("section[data-name=one] output") == "1 row"
    assert page.evaluate("document.body.scrollWidth <= window.innerWidth")  # a long name stays in its tile


@browser_needed
def test_numbers_and_times_are_short(page):
    page.show({"metrics": [], "system": [], "run": {}, "log": {}, "children": {}})
    assert page.evaluate("[0.123456, 12, 1e-7, 123456789, null, 'x'].map(window.parts.short)") == [
        "0.1235", "12", "1.00e-7", "1.23e8", "", "x",
    ]  # fmt: skip
    assert page.evaluate("[512, 2500, 3e9].map(window.parts.bytes)") == ["512 B", "2.5 kB", "3.0 GB"]
    assert page.evaluate("[1200, 59000, 61000, 3723000].map(window.parts.span)") == ["1.2 s", "59 s", "1:01", "1:02:03"]
    assert page.evaluate("window.parts.ticks(0, 10, 4)") == [0, 2, 4, 6, 8, 10]
    assert page.evaluate("window.parts.drawn('a\\r\\nb\\rc\\n')") == "a\nc\n"


def test_the_text_of_a_sweep_begins_with_its_best_run():
    def row(number, loss, **more):
        known = {"id": f"HD_1_{number}", "name": None, "status": "Completed", "over": True, "stopped": None}
        return known | {"params": {"lr": f"0.{number}"}, "metrics": {"loss": loss}} | more

    rows = [row(1, None, over=False, status="Running"), row(2, 0.5, status="Canceled", stopped="too bad"), row(3, 0.25)]
    run = {"id": "HD_1", "name": None, "experiment": "e", "number": 3, "url": "http://here", "status": "Running"}
    view = {
        "run": run | {"over": False, "reason": "", "started": None, "error": None},
        "metrics": [],
        "children": {"rows": rows, "params": ["lr"], "primary": {"name": "loss", "smaller": True, "total": 9}},
        "log": {"text": ""},
    }
    assert text_of(view).splitlines()[3:] == [
        "Runs below it: 2 of 9 are over, the best first",
        "  HD_1_3  Completed  lr=0.3  loss=0.25",
        "  HD_1_2  Stopped  lr=0.2  loss=0.5",
        "  HD_1_1  Running  lr=0.1  loss=None",
    ]


def test_the_text_of_a_run_that_failed():
    text = text_of(
        {
            "run": {
                "id": "r1", "name": None, "experiment": "e", "number": 3, "url": "http://here", "status": "Failed",
                "over": True, "reason": "", "started": 0, "ended": 61_000, "error": {"message": "It broke."},
            },
            "metrics": [{"name": f"m{n:02}", "kind": "text", "last": n} for n in range(22)],
            "children": {"rows": [], "params": []},
            "log": {"name": "azureml-logs/70_driver_log.txt", "text": "10%\r20%\nlast\n"},
        }
    ).splitlines()  # fmt: skip
    assert text[0] == "r1  Failed  1:01"
    assert "  error       It broke." in text
    assert "  … and 2 more" in text
    assert text[-3:] == ["The end of azureml-logs/70_driver_log.txt", "  20%", "  last"]
