"""How a scoring process is started: its interpreter, its variables, what it is told to load."""

from __future__ import annotations

import os

from trainyard.client import overlay
from trainyard.client.home import Home
from trainyard.contract.environments import SHIMS_VARIABLE
from trainyard.contract.serving import Scorer, ServicePlan
from trainyard.scoring.wire import Assignment
from trainyard.serving.process import Launch

_HELPERS = os.path.join("trainyard", "shims", "startup")  # below the overlay: Python runs what is in it first

# Of our own process, or a way into the service: not the scoring code's business.
_OURS = (
    "TRAINYARD_TOKEN",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONOPTIMIZE",
)


def launch_of(plan: ServicePlan, scorer: Scorer, log: int) -> Launch:
    made = overlay.ensure(Home.default(dict(os.environ)).path)
    assignment = Assignment(
        service=plan.name,
        version=scorer.version,
        kind=scorer.kind.value,
        source=scorer.source,
        entry_script=scorer.entry_script,
        model_path=scorer.model_path,
        threads=scorer.threads,
    )
    return Launch(
        scorer.interpreter, made.first, _variables(plan, scorer, made.first, dict(os.environ)), assignment, log
    )


def _variables(plan: ServicePlan, scorer: Scorer, overlay_folder: str, ours: dict[str, str]) -> dict[str, str]:
    variables = {name: value for name, value in ours.items() if name not in _OURS}
    programs = os.path.dirname(scorer.interpreter)
    variables["PATH"] = os.pathsep.join([programs, ours.get("PATH", os.defpath)])
    variables |= {
        "AZUREML_MODEL_DIR": scorer.models,
        "AZUREML_ENTRY_SCRIPT": scorer.entry_script or "",
        "AZUREML_SOURCE_DIRECTORY": scorer.source or "",
        "AML_APP_ROOT": scorer.source or "",
        "SERVICE_NAME": plan.name,
        "WORKER_COUNT": str(scorer.workers),
        "WORKER_TIMEOUT": str(max(1, plan.scoring_timeout_ms // 1000)),
    }
    if plan.collect:
        variables["TRAINYARD_COLLECT"] = plan.collect
    variables |= scorer.variables
    # what the scoring code starts finds azureml too; helpers for old scripts come before it, where they are wanted
    helpers = [os.path.join(overlay_folder, _HELPERS)] if variables.get(SHIMS_VARIABLE) else []
    path = [*helpers, overlay_folder, variables.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
    return variables
