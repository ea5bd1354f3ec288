"""A real training through Trainyard, shown from submit to a web service that reads digits. `make demo` runs it."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from azureml.core import Experiment, Model, Run, Webservice, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.train.dnn import TensorFlow

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH = 96
SHADES = " ░▒▓█"
STEPS = " ▁▂▃▄▅▆▇█"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--picture", metavar="FILE.svg", help="also keep what was shown as a picture")
    args = parser.parse_args()
    wanted = {"record": True, "width": WIDTH} if args.picture else {}
    console = Console(file=sys.stdout, highlight=False, **wanted)  # its own stream: print() is led through it below

    console.print()
    begun = time.perf_counter()
    run = submit(console, args.epochs)
    watch(console, run)
    show_metrics(console, run.get_metrics())
    show_files(console, run)
    service = deploy(console, run)
    score(console, run, service)
    how_to_go_on(console, run, service, time.perf_counter() - begun)
    if args.picture:
        keep_picture(console, args.picture)


def keep_picture(console: Console, path: str) -> None:
    """As an SVG that asks nobody for fonts."""
    text = re.sub(r"@font-face {.*?}\s*", "", console.export_svg(title="make demo"), flags=re.DOTALL)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("Fira Code, monospace", "ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace"))


def submit(console: Console, epochs: int) -> Run:
    section(console, "A workspace and a cluster, on this machine")
    ws = Workspace.create(name="demo", exist_ok=True, show_output=False)
    try:
        cluster = ComputeTarget(workspace=ws, name="cpu-cluster")
    except ComputeTargetException:
        shape = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=2)
        cluster = ComputeTarget.create(ws, "cpu-cluster", shape)
        cluster.wait_for_completion()
    console.print(f"  workspace [bold]{ws.name}[/], target [bold]{cluster.name}[/]", soft_wrap=True)
    console.print(f"  [dim]everything is kept in {os.environ.get('TRAINYARD_HOME', '~/.trainyard')}[/]", soft_wrap=True)

    section(console, "Submit TensorFlow(...): the estimator brings the framework along")
    logging.getLogger("azureml").setLevel(logging.ERROR)  # that estimators were deprecated is no news here
    estimator = TensorFlow(
        source_directory=os.path.join(HERE, "digits_tensorflow", "my-tf-proj"),
        script_params={"--batch-size": 50, "--learning-rate": 0.01, "--epochs": epochs},
        compute_target=cluster,
        entry_script="train.py",
        conda_packages=["scikit-learn"],
        environment_variables={"TF_CPP_MIN_LOG_LEVEL": "2"},  # what TensorFlow says of this machine is not for a demo
    )
    before = time.perf_counter()
    run = Experiment(ws, "read-digits").submit(estimator)
    console.print(f"  run [bold]{run.id}[/] accepted after {time.perf_counter() - before:.2f} s")
    return run


def watch(console: Console, run: Run) -> None:
    section(console, "Its output, as it is written")
    with onto(console):
        run.wait_for_completion(show_output=True, wait_post_processing=True)


def show_metrics(console: Console, metrics: dict[str, object]) -> None:
    section(console, "What it logged")
    charts = Table.grid(padding=(0, 4))
    charts.add_row(
        *(chart(name, metrics[name], colour) for name, colour in (("loss", "magenta"), ("accuracy", "green")))
    )
    console.print(Padding(charts, (0, 2)))


def show_files(console: Console, run: Run) -> None:
    section(console, "The files it left behind")
    for name in run.get_file_names():
        console.print(f"  {name}", style="bold" if name.startswith("outputs/") else "dim", markup=False)


def deploy(console: Console, run: Run) -> Webservice:
    section(console, "The model becomes a web service, without a line of code")
    with onto(console):
        model = run.register_model(
            model_name="digits",
            model_path="outputs/model",
            model_framework=Model.Framework.TENSORFLOW,
            model_framework_version="2.0",
            resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
        )
        before = time.perf_counter()
        service = Model.deploy(run.experiment.workspace, "tensorflow-web-service", [model], overwrite=True)
        service.wait_for_deployment(show_output=True)
    took = time.perf_counter() - before
    console.print(f"  [bold]{model.id}[/] answers at [bold]{service.scoring_uri}[/] after {took:.1f} s", soft_wrap=True)
    return service


def score(console: Console, run: Run, service: Webservice) -> None:
    section(console, "It reads four digits it has never seen")
    digits = load_digits()
    _, kept_back = train_test_split(range(len(digits.data)), test_size=0.25, random_state=7)  # as train.py did
    chosen = kept_back[:4]
    answer = service.run(json.dumps({"instances": (digits.data[chosen] / 16).tolist()}))
    read = [max(range(10), key=scores.__getitem__) for scores in answer["predictions"]]
    grid = Table.grid(padding=(0, 3))
    grid.add_row(*(picture(digits.images[at]) for at in chosen))
    grid.add_row(
        *(
            Text(f"read as {said}", style="green" if said == digits.target[at] else "red", justify="center")
            for at, said in zip(chosen, read, strict=True)
        )
    )
    console.print(Padding(grid, (0, 2)))
    with tempfile.TemporaryDirectory() as folder:
        run.download_file("outputs/report.json", folder)
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
    console.print(f"\n  accuracy on images it had never seen: [bold green]{report['accuracy']:.1%}[/]")


def how_to_go_on(console: Console, run: Run, service: Webservice, seconds: float) -> None:
    section(console, "How to go on")
    stop()
    home = os.environ.get("TRAINYARD_HOME")
    in_venv = sys.prefix != sys.base_prefix
    lines = [
        f"source {os.path.relpath(sys.prefix)}/bin/activate" if in_venv else "",
        f"export TRAINYARD_HOME={home}" if home else "",
        f"trainyard runs show {run.id}",
        f"trainyard services show {service.name}",
        "trainyard run examples/digits/train.py -- --epochs 5",
        "python examples/digits_tensorflow/submit.py",
        "trainyard --help",
    ]
    for line in filter(None, lines):
        console.print(f"  [dim]$[/] {line}", soft_wrap=True)
    console.print(
        f"\n  [dim]That took {seconds:.1f} s. Everything has stopped; the next command starts it again, with the web "
        "service.[/]\n"
    )


def section(console: Console, title: str) -> None:
    console.print()
    console.print(Rule(f"[bold cyan]{title}[/]", align="left", style="cyan"))


@contextlib.contextmanager
def onto(console: Console) -> Iterator[None]:
    """What is printed inside goes through `console`, line by line."""

    class Lines(io.TextIOBase):
        def __init__(self) -> None:
            self.waiting = ""

        def writable(self) -> bool:
            return True

        def write(self, text: str) -> int:
            *whole, self.waiting = (self.waiting + text).split("\n")
            for line in whole:
                console.print(f"  {line}", markup=False, soft_wrap=True)
            return len(text)

    with contextlib.redirect_stdout(Lines()):
        yield


def chart(name: str, values: object, colour: str, height: int = 5) -> Text:
    """A column per value, drawn in eighths of a character."""
    points = [float(value) for value in values] if isinstance(values, list) else [float(str(values))]
    low, high = min(points), max(points)
    spread = (high - low) or 1.0
    width = max(1, 32 // len(points))
    eighths = [round((point - low) / spread * (height * 8 - 1)) + 1 for point in points]
    text = Text(f"{name}   {points[0]:.3f} → {points[-1]:.3f}\n", style="bold")
    for row in range(height - 1, -1, -1):
        line = "".join(STEPS[min(8, max(0, filled - row * 8))] * width for filled in eighths)
        text.append(line + "\n", style=f"not bold {colour}")
    text.append(f"epoch 1 to {len(points)}", style="not bold dim")
    return text


def picture(image: object) -> Text:
    """An 8 by 8 image of a digit in shades of grey, two characters a pixel."""
    rows = ["".join(SHADES[int(pixel) * 4 // 16] * 2 for pixel in row) for row in image]  # type: ignore[attr-defined]
    return Text("\n".join(rows))


def stop() -> None:
    subprocess.run([sys.executable, "-m", "trainyard.cli.main", "stop", "--all"], check=True, capture_output=True)


if __name__ == "__main__":
    main()
