"""Stores that the SDK could register and that are not done here: no real or emulated server of theirs has answered.
Each says what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn

from trainyard.sdk.errors import UserErrorException

_MOUNTED = "Mount it on the nodes and register the folder: Datastore.register_folder(workspace, name, '/mnt/...')."


def untried(what: str, instead: str) -> NoReturn:
    raise UserErrorException(f"{what} is not supported by this version of Trainyard. {instead}")


class Refused:
    @staticmethod
    def register_azure_file_share(
        workspace: Any = None,
        datastore_name: str = "name",
        file_share_name: str = "share",
        account_name: str = "account",
        *_: Any,
        **__: Any,
    ) -> NoReturn:
        del workspace
        untried(
            "An Azure file share",
            f"Mount it on the nodes (//{account_name}.file.core.windows.net/{file_share_name}) and register the folder "
            f"under the same name: Datastore.register_folder(workspace, {datastore_name!r}, "
            f"'/mnt/{file_share_name}'). Or copy its files into a blob container: register_azure_blob_container(...).",
        )

    @staticmethod
    def register_azure_data_lake(*_: Any, **__: Any) -> NoReturn:
        untried(
            "Azure Data Lake Gen1, which Azure has switched off,",
            "Use register_azure_data_lake_gen2(...), or register_azure_blob_container(...).",
        )

    @staticmethod
    def register_gcs_bucket(*_: Any, **__: Any) -> NoReturn:
        untried(
            "Google Cloud Storage",
            "Its buckets speak S3 with HMAC keys: register_s3_bucket(workspace, name, bucket, access_key_id=..., "
            "secret_access_key=..., endpoint='https://storage.googleapis.com').",
        )

    @staticmethod
    def register_dbfs(*_: Any, **__: Any) -> NoReturn:
        untried("Databricks' file system", _MOUNTED)

    @staticmethod
    def register_hdfs(*_: Any, **__: Any) -> NoReturn:
        untried("HDFS", _MOUNTED)
