"""Models from a run's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from trainyard.contract.models import ModelSource
from trainyard.sdk.runs.run_files import RunFiles

if TYPE_CHECKING:
    from trainyard.sdk.models.model import Model


class RunModels(RunFiles):
    def register_model(
        self,
        model_name: str,
        model_path: str | None = None,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        model_framework: str | None = None,
        model_framework_version: str | None = None,
        description: str | None = None,
        datasets: Any = None,
        sample_input_dataset: Any = None,
        sample_output_dataset: Any = None,
        resource_configuration: Any = None,
        **kwargs: Any,
    ) -> Model:
        """`model_path` names a file or folder among the run's files, such as outputs/model; without it, one that is
        called as the model is. What the run has written and not uploaded yet is uploaded first."""
        from trainyard.sdk.models.model import Model
        from trainyard.sdk.models.registering import new_model

        del kwargs
        path = os.path.normpath(model_path or model_name).replace(os.sep, "/")
        new = new_model(
            self._experiment.workspace,
            model_name,
            ModelSource(path=path, run_id=self._run_id),
            tags=tags,
            properties=properties,
            description=description,
            datasets=datasets,
            model_framework=model_framework,
            model_framework_version=model_framework_version,
            sample_input_dataset=sample_input_dataset,
            sample_output_dataset=sample_output_dataset,
            resource_configuration=resource_configuration,
        )
        self._upload_written(path)
        return Model._registered(self._experiment.workspace, new)

    def _upload_written(self, path: str) -> None:
        local = self._written_here(path)
        if local is None or any(
            file.name == path or file.name.startswith(path + "/") for file in self._runs.files(self._run_id)
        ):
            return
        if os.path.isdir(local):
            self.upload_folder(path, local)
        else:
            self.upload_file(path, local)

    def _written_here(self, path: str) -> str | None:
        """Where a file of the run is before it is uploaded: in a job's working folder, or in a collected one."""
        candidates = [path] if self._knows_itself() else []
        for name, folder in self._collected.items():
            if path == name or path.startswith(name + "/"):
                candidates.append(os.path.join(folder, path[len(name) + 1 :]))
        return next((it for it in candidates if os.path.exists(it)), None)
