"""A job's processes in containers, where its environment asks for them and this node has an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments import container
from trainyard.environments.container import Engine, Mount, Wish
from trainyard.environments.fingerprint import Machine, fingerprint
from trainyard.environments.specification import parse


@dataclass(frozen=True)
class Contained:
    """How to start a process inside, and what was started."""

    engine: Engine
    wish: Wish
    image: str
    prefix: str  # of the containers' names
    variables: Mapping[str, str]  # the engine's own
    started: list[str] = field(default_factory=list)

    def argv(
        self, rank: int, argv: Sequence[str], variables: Mapping[str, str], mounts: Sequence[Mount], working: str
    ) -> list[str]:
        name = f"{self.prefix}-{rank}"
        self.started.append(name)
        gpus = [it for it in variables.get("CUDA_VISIBLE_DEVICES", "").split(",") if it]
        return container.run_argv(self.engine, name, self.image, argv, variables, mounts, working, self.wish, gpus)

    def with_engines(self, variables: Mapping[str, str]) -> dict[str, str]:
        """What the engine's client is started with: the job's variables, which it hands on, and where it finds its
        engine."""
        own = {name: self.variables[name] for name in ("PATH", "HOME") if name in self.variables}
        engine = {
            name: value for name, value in self.variables.items() if name.startswith(("DOCKER_", "CONTAINER", "XDG_"))
        }
        return {**variables, **engine, **own}

    def end(self) -> None:
        container.remove(self.engine, self.started, self.variables)
        self.started.clear()


def contain(
    spec: EnvironmentSpec, attempt_id: str, node: int, variables: Mapping[str, str], log: Callable[[str], None]
) -> Contained | None:
    """None: without a container, because none is asked for or no engine answers (which is said)."""
    wish = container.wish_of(spec.definition)
    if wish is None:
        return None
    engine = container.find_engine(variables)
    if engine is None:
        log(container.NO_ENGINE)
        return None
    wanted = parse(spec.definition)
    key = fingerprint(wanted, Machine(f"{wish.image}\n{wish.dockerfile}", "container"))
    image = container.ensure_image(engine, wish, wanted, key, variables, log)
    log(f"Running in a container of {image} by {engine.kind}.")
    return Contained(engine, wish, image, f"trainyard-{attempt_id}-{node}", dict(variables))
