"""FileDataset: files from datastores, web addresses or this machine, as one folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

from trainyard.contract.data import DataMode
from trainyard.sdk.data.data_expressions import RecordFieldExpression, wire_of
from trainyard.sdk.data.dataset_base import AbstractDataset, checked_count, checked_share, seed_or_new
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import UserErrorException, sdk_errors

if TYPE_CHECKING:
    from trainyard.blobs.depots.cache import View
    from trainyard.sdk.data.dataset_consumption import DatasetConsumptionConfig


class FileDataset(AbstractDataset):
    _kind = "file"

    def to_path(self) -> list[str]:
        """Every file, by its path in the dataset's folder; each begins with '/'."""
        return [f"/{entry.path}" for entry in self._entries()]

    def download(
        self, target_path: str | None = None, overwrite: bool = False, ignore_not_found: bool = False
    ) -> list[str]:
        """Writes all files below `target_path` (a new temporary folder without one), in the tree of to_path().
        `ignore_not_found`: without those sources that have no file."""
        from trainyard.sdk.data.transfers import download

        if target_path is None:
            import tempfile

            target_path = tempfile.mkdtemp(prefix="dataset-")
        folder = os.path.abspath(os.path.expanduser(os.fspath(target_path)))
        entries = self._entries(missing_ok=ignore_not_found)
        return download(entries, folder, overwrite=overwrite, show=False)

    def mount(self, mount_point: str | None = None, **kwargs: Any) -> MountContext:
        """The files as a folder, without copying what is on this machine: `with dataset.mount() as context:`."""
        no_effect("FileDataset.mount", **kwargs)
        return MountContext(self, mount_point)

    def as_mount(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        return self._as_input(DataMode.MOUNT, path_on_compute)

    def as_download(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        return self._as_input(DataMode.DOWNLOAD, path_on_compute)

    def as_hdfs(self) -> NoReturn:
        raise UserErrorException("There is no HDFS here. Give the run dataset.as_mount() or dataset.as_download().")

    def as_cache(self, datacache_store: Any = None) -> NoReturn:
        del datacache_store
        raise UserErrorException(
            "There is no data cache service here, and none is needed: what a run mounts is kept on its node for the "
            "next one. Use dataset.as_mount()."
        )

    def hydrate(self, datacache_store: Any = None, replica_count: int | None = None) -> NoReturn:
        del replica_count
        self.as_cache(datacache_store)

    # Choosing among the files

    def skip(self, count: int) -> FileDataset:
        return self._step(op="skip", count=checked_count(count, "count"))

    def take(self, count: int) -> FileDataset:
        return self._step(op="take", count=checked_count(count, "count"))

    def take_sample(self, probability: float, seed: int | None = None) -> FileDataset:
        """Each file with this probability; the same files whenever it is looked at."""
        share = checked_share(probability, "probability")
        return self._step(op="sample", probability=share, seed=seed_or_new(seed))

    def random_split(self, percentage: float, seed: int | None = None) -> tuple[FileDataset, FileDataset]:
        """Two datasets that share no file: about `percentage` (0 to 1) of the files, and the rest."""
        share, number = checked_share(percentage, "percentage"), seed_or_new(seed)
        return (
            self._step(op="split", percentage=share, seed=number, part=0),
            self._step(op="split", percentage=share, seed=number, part=1),
        )

    def file_metadata(self, col: str) -> RecordFieldExpression:
        """Size, Path, Name or LastModifiedTime of a file, for filter()."""
        return RecordFieldExpression(["meta", str(col)])

    def filter(self, expression: RecordFieldExpression) -> FileDataset:
        return self._step(op="filter", expression=wire_of(expression))


class MountContext:
    """A dataset's folder. A link at `mount_point` leads to it while it is mounted."""

    def __init__(self, dataset: FileDataset, mount_point: str | None) -> None:
        self._dataset = dataset
        self._wanted = os.path.abspath(os.path.expanduser(mount_point)) if mount_point else None
        self._view: View | None = None
        self._link: str | None = None
        self._made = False
        if self._wanted and os.path.isdir(self._wanted) and os.listdir(self._wanted):
            raise UserErrorException(f"{self._wanted} is not empty. mount() needs an empty folder, or one to be made.")

    @property
    def mount_point(self) -> str:
        if self._wanted is None:
            import tempfile

            self._wanted = os.path.join(tempfile.mkdtemp(prefix="mount-"), "dataset")
            self._made = True
        return self._wanted

    def start(self) -> None:
        from trainyard.sdk.data.data_here import cache

        if self._view is not None:
            return
        with sdk_errors():
            self._view = cache().view(self._dataset._entries())
        target = self.mount_point
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(target) and not os.path.islink(target):
            os.rmdir(target)  # empty, as was seen
        os.symlink(self._view.path, target)
        self._link = target

    def stop(self) -> None:
        if self._link is not None:
            os.unlink(self._link)
            if self._made:
                os.rmdir(os.path.dirname(self._link))
            self._link = None
        if self._view is not None:
            self._view.close()
            self._view = None

    def __enter__(self) -> MountContext:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
