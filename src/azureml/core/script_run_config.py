"""Re-exports: see trainyard.sdk.submitting.script_run_config."""

from trainyard.sdk.submitting.script_run_config import ScriptRunConfig as ScriptRunConfig
