"""The database's shape, step by step. A service brings its database to its own shape when it starts."""

from __future__ import annotations

import os

from sqlalchemy import inspect, text
from sqlalchemy.exc import DatabaseError

from trainyard.contract.errors import ServiceUnavailable
from trainyard.server.db import Database

_HERE = os.path.dirname(os.path.abspath(__file__))


def head() -> str:
    """The newest revision there is: revisions are numbered, and so are their files."""
    names = sorted(name for name in os.listdir(os.path.join(_HERE, "versions")) if name[:4].isdigit())
    return names[-1][:4]


def migrate(db: Database) -> None:
    """Bring the database to `head()`. Costs one query when it is there already."""
    now, wanted = _revision(db), head()
    if now == wanted:
        return
    if now is not None and now > wanted:
        raise ServiceUnavailable(
            f"This home's database has shape {now}, made by a newer Trainyard; this one knows {wanted}. "
            "Install the newer version again, or use another TRAINYARD_HOME."
        )
    from alembic import command  # heavy, and needed once per version
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", _HERE)
    with db.write() as tx:
        config.attributes["connection"] = tx
        command.upgrade(config, wanted)


def _revision(db: Database) -> str | None:
    try:
        with db.read() as tx:
            if not inspect(tx).has_table("alembic_version"):
                return None
            return tx.execute(text("SELECT version_num FROM alembic_version")).scalar()
    except DatabaseError as error:
        raise ServiceUnavailable(
            f"The database {db.name} cannot be read: {error.orig}. Restore it from a backup (docs/operating.md says "
            "how), or use another TRAINYARD_HOME."
        ) from error
