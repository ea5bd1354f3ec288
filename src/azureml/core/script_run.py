"""Re-exports: see trainyard.sdk.runs.script_run."""

from trainyard.sdk.runs.script_run import ScriptRun as ScriptRun
