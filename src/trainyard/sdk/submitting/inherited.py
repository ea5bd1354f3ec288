"""Which of the submitting process's variables a job on this machine gets: what finds programs, homes, caches, proxies
and certificates. Nothing else: a job's variables are the environment's and the run's own."""

from __future__ import annotations

from collections.abc import Mapping

_NAMES = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TMPDIR",
        "TZ",
        "LANG",
        "LANGUAGE",
        "TERM",
        "TORCH_HOME",
        "HF_HOME",
        "HF_HUB_CACHE",
        "TRANSFORMERS_CACHE",
        "KERAS_HOME",
        "TFHUB_CACHE_DIR",
        "SCIKIT_LEARN_DATA",
        "NLTK_DATA",
        "MPLBACKEND",
        "MPLCONFIGDIR",
        "NUMBA_CACHE_DIR",
        "JAVA_HOME",
        "HADOOP_HOME",
        "SPARK_HOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "VIRTUAL_ENV",
        "CUDA_HOME",
        "CUDA_PATH",
        "CUDA_ROOT",
        "CUDNN_PATH",
        "NVIDIA_DRIVER_CAPABILITIES",
        "NVIDIA_VISIBLE_DEVICES",
        "CONDA_PREFIX",
        "CONDA_DEFAULT_ENV",
        "CONDA_EXE",
        "CONDA_PYTHON_EXE",
        "CONDA_SHLVL",
        "CONDA_PROMPT_MODIFIER",
        "CONDA_ENVS_PATH",
        "CONDA_PKGS_DIRS",
        "UV_CACHE_DIR",
        "UV_FIND_LINKS",
        "PIP_CACHE_DIR",
        "TRAINYARD_URL_MAP",
    ]
)
_BEGINNINGS = ("LC_", "XDG_")
_PROXIES = ("_proxy", "_PROXY")


def inherited_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if name in _NAMES or name.startswith(_BEGINNINGS) or name.endswith(_PROXIES)
    }
