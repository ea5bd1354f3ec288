"""Which version answers a request: the one it names, else by the versions' shares of the traffic."""

from __future__ import annotations

from trainyard.serving.pool import Pool

VERSION_HEADER = b"azureml-model-deployment"


class NoSuchVersion(Exception):
    pass


class Router:
    def __init__(self, pools: tuple[Pool, ...]) -> None:
        self.pools = pools
        self._by_version = {pool.scorer.version: pool for pool in pools}
        self._shared = [pool for pool in pools if pool.scorer.traffic > 0]
        self._total = sum(pool.scorer.traffic for pool in self._shared)
        self._credit = [0] * len(self._shared)
        self._mirrors = [pool for pool in pools if pool.scorer.mirror > 0]
        self._owed = [0] * len(self._mirrors)

    def named(self, version: str) -> Pool:
        if version not in self._by_version:
            known = ", ".join(sorted(self._by_version)) or "none"
            raise NoSuchVersion(f"This service has no version {version!r} (it has: {known}).")
        return self._by_version[version]

    def next(self) -> Pool:
        """Shares are exact: of any hundred requests in a row each version gets its part, evenly spread."""
        if len(self._shared) == 1:
            return self._shared[0]
        if not self._shared:
            raise NoSuchVersion(
                "No version of this service takes traffic: name one in the header azureml-model-deployment."
            )
        for at, pool in enumerate(self._shared):
            self._credit[at] += pool.scorer.traffic
        best = max(range(len(self._credit)), key=self._credit.__getitem__)
        self._credit[best] -= self._total
        return self._shared[best]

    def mirrors(self, answering: Pool) -> list[Pool]:
        """The versions that get a copy of this request."""
        found = []
        for at, pool in enumerate(self._mirrors):
            self._owed[at] += pool.scorer.mirror
            if self._owed[at] >= 100:
                self._owed[at] -= 100
                if pool is not answering:
                    found.append(pool)
        return found
