"""Every error of ours, in one tree. Each has a stable `code`, travels as JSON, and ends with the next step.

TrainyardError
├── InvalidRequest         request.invalid         what was sent makes no sense; the sentence says what would
│   ├── InvalidName        request.name            a name outside the SDK's rules
│   ├── InvalidQuery       request.query           a search that does not read
│   ├── TooManyNodes       request.nodes           more nodes than the target has
│   ├── InvalidSweep       request.sweep           a hyperparameter search that makes no sense
│   ├── ModelRefused       model.refused           a model that cannot be served as it was asked
│   └── ServiceRefused     webservice.refused      a deployment that makes no sense
├── NotFound               not_found
│   ├── UnknownWorkspace   workspace.unknown
│   ├── UnknownExperiment  experiment.unknown
│   ├── UnknownRun         run.unknown
│   ├── UnknownCompute     compute.unknown
│   ├── UnknownEnvironment environment.unknown
│   ├── UnknownFile        file.unknown
│   ├── UnknownDatastore   datastore.unknown
│   ├── UnknownDataset     dataset.unknown
│   ├── NoSuchData         data.unknown            a path, glob or address that has no files
│   ├── UnknownModel       model.unknown
│   ├── UnknownModelPath   model.path              nothing of that name among a run's files
│   ├── UnknownWebservice  webservice.unknown
│   └── UnknownBlob        blob.unknown
├── Conflict               conflict                the thing is in a state that does not allow it
│   ├── AlreadyExists      conflict.exists
│   │   ├── DatastoreExists datastore.exists
│   │   └── DatasetExists  dataset.exists          registered, and no new version was asked for
│   ├── IllegalMove        run.illegal_move
│   ├── RunEnded           run.ended               a terminal state never changes
│   ├── AttemptOver        attempt.over            a late agent: its attempt has ended, it must stop
│   ├── ModelInUse         model.in_use            a service has it
│   ├── WebserviceExists   webservice.exists
│   └── StillRunning       service.busy            stop asked while runs are active
├── NotAuthenticated       auth.missing
├── NotAllowed             auth.denied
│   └── PickleRefused      model.pickle            the registry's owner has not allowed models that carry code
├── DigestMismatch         blob.digest             bytes are not what their name says
├── SnapshotRefused        snapshot.refused        a source directory that cannot be taken
├── EnvironmentRefused     environment.refused     an interpreter or environment that cannot be used here
│   ├── Unsatisfied        environment.unsatisfied the solver's own sentence: packages that cannot be had together
│   ├── BuildFailed        environment.build       a source distribution did not build
│   └── IndexAway          environment.index       an index or channel did not answer in time
├── BackendRefused         backend.refused         an engine said no
│   └── BackendAway        backend.away            it does not answer now; it is asked again
├── DataRefused            data.refused            data or a store that cannot be used so
│   ├── BadCredentials     data.credentials        the store says no to who we are
│   └── DataChanged        data.changed            a file changed while it was read
├── DataAway               data.away               a store or web server does not answer, or not to the end
├── DiskFull               disk.full
├── VersionMismatch        service.version         client and service are too far apart
└── ServiceUnavailable     service.unavailable     the service cannot be reached or started
"""

from __future__ import annotations

from collections.abc import Iterable

from trainyard.contract.error_root import TrainyardError as TrainyardError


class InvalidRequest(TrainyardError):
    code = "request.invalid"


class InvalidName(InvalidRequest):
    code = "request.name"

    def __init__(self, kind: str, name: object, rule: str) -> None:
        super().__init__(f"{name!r} cannot be the name of {kind}: {rule}. Choose another name.", name=str(name))


class InvalidQuery(InvalidRequest):
    code = "request.query"

    def __init__(self, text: str, at: int, what: str) -> None:
        near = text[at : at + 20]
        where = f"at {near!r} (character {at + 1})" if near else "at its end"
        super().__init__(
            f'The query does not read {where}: {what}. An example: metrics.loss < 0.1 and tags.team = "vision".', at=at
        )


class TooManyNodes(InvalidRequest):
    code = "request.nodes"

    def __init__(self, target: str, asked: int, most: int) -> None:
        super().__init__(
            f"The run asks for {asked} nodes and compute target {target!r} has at most {most}. "
            "Lower node_count, or raise the target's max_nodes with `AmlCompute.update(max_nodes=...)`.",
            target=target,
            asked=asked,
            most=most,
        )


class InvalidSweep(InvalidRequest):
    code = "request.sweep"


class ModelRefused(InvalidRequest):
    code = "model.refused"


class ServiceRefused(InvalidRequest):
    code = "webservice.refused"


class NotFound(TrainyardError):
    code = "not_found"


class UnknownWorkspace(NotFound):
    code = "workspace.unknown"

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        have = ", ".join(sorted(set(known))) or "none yet"
        super().__init__(
            f"No workspace named {name!r} (you have: {have}). Make it with Workspace.create(name={name!r})."
        )


class UnknownExperiment(NotFound):
    code = "experiment.unknown"

    def __init__(self, name: str) -> None:
        super().__init__(f"No experiment named {name!r}. Experiment(workspace, {name!r}) makes it.")


class UnknownRun(NotFound):
    code = "run.unknown"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"No run {run_id!r} in this workspace. See `trainyard runs list`.")


class UnknownCompute(NotFound):
    code = "compute.unknown"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        have = ", ".join(sorted(known)) or "none yet"
        super().__init__(
            f"ComputeTargetNotFound: Compute Target with name {name} not found in provided workspace "
            f"(you have: {have}). See `trainyard compute list`."
        )


class UnknownEnvironment(NotFound):
    code = "environment.unknown"

    def __init__(self, name: str, version: str | None, known: Iterable[str]) -> None:
        have = ", ".join(known) or "none"
        asked = f"No version {version!r} of environment {name!r}" if version else f"No environment named {name!r}"
        what = "versions" if version else "environments"
        super().__init__(f"{asked} ({what} there are: {have}). Make one with Environment(...).register(workspace).")


class UnknownFile(NotFound):
    code = "file.unknown"

    def __init__(self, run_id: str, name: str) -> None:
        super().__init__(f"Run {run_id} has no file {name!r}. run.get_file_names() lists those it has.")


class UnknownDatastore(NotFound):
    code = "datastore.unknown"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        have = ", ".join(sorted(known)) or "none"
        super().__init__(
            f"No datastore named {name!r} in this workspace (there are: {have}). Datastore.register_...() makes one."
        )


class UnknownDataset(NotFound):
    code = "dataset.unknown"

    def __init__(self, name: str, version: object, known: Iterable[str]) -> None:
        have = ", ".join(known) or "none"
        asked = f"No version {version} of dataset {name!r}" if version else f"No dataset {name!r}"
        what = "versions" if version else "datasets"
        super().__init__(f"{asked} in this workspace ({what} there are: {have}). dataset.register(...) makes one.")


class NoSuchData(NotFound):
    code = "data.unknown"


class UnknownModel(NotFound):
    code = "model.unknown"

    def __init__(self, what: str, near: Iterable[str] = (), name: str | None = None) -> None:
        have = ", ".join(near) or "none yet"
        by_id = f"An id is given as Model(workspace, id={name!r}). " if name and ":" in name else ""
        super().__init__(
            f"ModelNotFound: Model with {what} not found in provided workspace (there are: {have}). {by_id}"
            "Model.list(workspace) and `trainyard models list` show them."
        )


class UnknownModelPath(NotFound):
    code = "model.path"

    def __init__(self, run_id: str, path: str, known: Iterable[str]) -> None:
        some = sorted(known)
        have = ", ".join(some[:10]) + (", …" if len(some) > 10 else "") or "none"
        super().__init__(
            f"Could not locate the provided model_path {path} in the set of files uploaded to run {run_id} (it has: "
            f"{have}). Give a path below outputs/, or upload the file with run.upload_file(name, path) first."
        )


class UnknownWebservice(NotFound):
    code = "webservice.unknown"

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        have = ", ".join(sorted(known)) or "none yet"
        super().__init__(
            f"WebserviceNotFound: Webservice with name {name} not found in provided workspace (there are: {have}). "
            "Webservice.list(workspace) and `trainyard services list` show them."
        )


class UnknownBlob(NotFound):
    code = "blob.unknown"

    def __init__(self, digest: str) -> None:
        super().__init__(f"The store has no content {digest[:16]}… . Upload it again.", digest=digest)


class Conflict(TrainyardError):
    code = "conflict"


class AlreadyExists(Conflict):
    code = "conflict.exists"


class DatastoreExists(AlreadyExists):
    code = "datastore.exists"


class DatasetExists(AlreadyExists):
    code = "dataset.exists"


class IllegalMove(Conflict):
    code = "run.illegal_move"

    def __init__(self, run_id: str, now: str, to: str) -> None:
        super().__init__(f"Run {run_id} is {now} and cannot become {to}.", now=str(now), to=str(to))


class RunEnded(Conflict):
    code = "run.ended"

    def __init__(self, run_id: str, state: str) -> None:
        super().__init__(f"Run {run_id} has already ended ({state}); its state does not change any more.")


class AttemptOver(Conflict):
    code = "attempt.over"

    def __init__(self, run_id: str, attempt: int) -> None:
        super().__init__(f"Attempt {attempt} of run {run_id} is over; its agent must stop.")


class StillRunning(Conflict):
    code = "service.busy"


class ModelInUse(Conflict):
    code = "model.in_use"

    def __init__(self, model_id: str, services: Iterable[str]) -> None:
        named = ", ".join(sorted(services))
        super().__init__(
            f"Model {model_id} is deployed in {named}. Delete the service(s) first, or deploy another version there."
        )


class WebserviceExists(Conflict):
    code = "webservice.exists"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A service named {name} exists already. Update it, delete it first, or deploy with overwrite=True "
            "(`trainyard deploy --overwrite`)."
        )


class NotAuthenticated(TrainyardError):
    code = "auth.missing"


class NotAllowed(TrainyardError):
    code = "auth.denied"


class PickleRefused(NotAllowed):
    code = "model.pickle"

    def __init__(self, model_id: str, file: str) -> None:
        super().__init__(
            f"{file} of model {model_id} is a pickle, which can run any code when it is loaded, and this service's "
            "owner has not allowed those. Ask the owner to start the service with TRAINYARD_ALLOW_PICKLE=1, or save "
            "the model as ONNX (skl2onnx) or with a scoring script of your own.",
            model=model_id,
        )


class DigestMismatch(TrainyardError):
    code = "blob.digest"

    def __init__(self, digest: str, found: str) -> None:
        super().__init__(
            f"Content named {digest[:16]}… has digest {found[:16]}…: it was damaged on its way or on disk. Register or "
            "upload the same file again: that replaces it."
        )


class SnapshotRefused(TrainyardError):
    code = "snapshot.refused"


class EnvironmentRefused(TrainyardError):
    code = "environment.refused"


class Unsatisfied(EnvironmentRefused):
    code = "environment.unsatisfied"


class BuildFailed(EnvironmentRefused):
    code = "environment.build"


class IndexAway(EnvironmentRefused):
    code = "environment.index"


class BackendRefused(TrainyardError):
    code = "backend.refused"


class BackendAway(BackendRefused):
    code = "backend.away"


class DataRefused(TrainyardError):
    code = "data.refused"


class BadCredentials(DataRefused):
    code = "data.credentials"


class DataChanged(DataRefused):
    code = "data.changed"


class DataAway(TrainyardError):
    code = "data.away"


class DiskFull(TrainyardError):
    code = "disk.full"

    def __init__(self, path: str) -> None:
        super().__init__(f"No space left on the disk that holds {path}. Free some space; nothing accepted was lost.")


class VersionMismatch(TrainyardError):
    code = "service.version"

    def __init__(self, service: str, client: str) -> None:
        super().__init__(
            f"This service is Trainyard {service} and does not understand clients of {client}. Install {service} on "
            "the client, or update the service."
        )


class ServiceUnavailable(TrainyardError):
    code = "service.unavailable"
