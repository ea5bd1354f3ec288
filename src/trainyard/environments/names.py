"""What packages are called elsewhere: on PyPI for conda's names, without a GPU for GPU builds, and in our overlay."""

from __future__ import annotations

import re

# What the SDK's own packages were for, where they brought more than the SDK: distributions that a job then finds.
# Everything else named azureml-* is the overlay that the agent puts on the job's path.
MEANT_BY_AZUREML: dict[str, tuple[str, ...]] = {
    "azureml-mlflow": ("mlflow-skinny", "pandas", "scipy"),  # without these two its flavours do not log models
    "azureml-train-automl": ("scikit-learn", "pandas"),
    "azureml-interpret": ("scikit-learn", "pandas"),
    "azureml-opendatasets": ("pandas", "pyarrow"),
}
MLFLOW_WITH_SKLEARN = ("skops",)  # what MLflow writes models of scikit-learn with; its small package lacks it
MEANT_BY_EXTRA: dict[tuple[str, str], tuple[str, ...]] = {
    ("azureml-dataset-runtime", "pandas"): ("pandas", "pyarrow"),
    ("azureml-dataset-runtime", "fuse"): ("pandas", "pyarrow"),
    ("azureml-dataprep", "pandas"): ("pandas", "pyarrow"),
    ("azureml-dataprep", "fuse"): ("pandas", "pyarrow"),
}

# conda's name → PyPI's. A package that is the same on both has its own name; None: PyPI's packages carry it inside.
_SAME = """
).split( absl-py adal altair attrs azure-core azure-storage-blob beautifulsoup4 bokeh boto3 catboost certifi cffi
chainer click cloudpickle cryptography cython dask decorator dill distributed filelock flask fsspec gensim gitpython
h5py horovod hyperopt idna imageio imbalanced-learn importlib-metadata ipykernel ipython ipywidgets jinja2 joblib
jsonschema jupyter keras lightgbm lxml markdown matplotlib mlflow more-itertools mpi4py mpmath msgpack-python
multidict mypy networkx nltk notebook numba numexpr numpy openpyxl optuna packaging pandas patsy pillow pip plotly
protobuf psutil psycopg2 pyarrow pycocotools pycparser pydantic pydot pygments pymongo pyparsing pytest python-
dateutil pytz pyyaml ray-core redis regex requests retrying rich ruamel.yaml s3fs sacremoses scikit-image scikit-learn
scipy seaborn sentencepiece setuptools shap simplejson six skl2onnx spacy sqlalchemy statsmodels sympy tabulate
tensorboard tensorflow tensorflow-gpu textblob toolz torchaudio torchvision tornado tqdm traitlets transformers
typing-extensions urllib3 werkzeug wheel widgetsnbextension wrapt xgboost xlrd zipp
"""
_OTHER: dict[str, str | None] = {
    "pytorch": "torch",
    "pytorch-cpu": "torch",
    "pytorch-gpu": "torch",
    "pytorch-nightly": "torch",  # what was nightly in those years has long been released
    "torchvision-cpu": "torchvision",
    "tensorflow-mkl": "tensorflow",
    "tensorflow-eigen": "tensorflow",
    "tensorflow-base": "tensorflow",
    "keras-gpu": "keras",
    "keras-base": "keras",
    "py-xgboost": "xgboost",
    "py-xgboost-cpu": "xgboost",
    "py-xgboost-gpu": "xgboost",
    "matplotlib-base": "matplotlib",
    "dask-core": "dask",
    "msgpack-python": "msgpack",
    "opencv": "opencv-python-headless",
    "py-opencv": "opencv-python-headless",
    "psycopg2": "psycopg2-binary",
    "ray-core": "ray",
    "python-graphviz": "graphviz",
    "pytables": "tables",
    "pyqt": "pyqt5",
    "faiss-cpu": "faiss-cpu",
    "cudatoolkit": None,
    "cudnn": None,
    "cpuonly": None,
    "mkl": None,
    "mkl-service": None,
    "nomkl": None,
    "blas": None,
    "openssl": None,
    "libgcc": None,
    "pip": None,
}
PYPI_NAME: dict[str, str | None] = {**{name: name for name in _SAME.split()}, **_OTHER}

# GPU builds → what to take where there is no GPU, and where there is one but the GPU package is no more.
WITHOUT_GPU: dict[str, tuple[str, ...]] = {
    "tensorflow-gpu": ("tensorflow-cpu", "tensorflow"),
    "tf-nightly-gpu": ("tensorflow-cpu", "tensorflow"),
    "onnxruntime-gpu": ("onnxruntime",),
    "paddlepaddle-gpu": ("paddlepaddle",),
    "cntk-gpu": ("cntk",),
    "faiss-gpu": ("faiss-cpu",),
    "mxnet-cu100": ("mxnet",),
    "mxnet-cu101": ("mxnet",),
}
WITH_GPU: dict[str, tuple[str, ...]] = {
    "tensorflow-gpu": ("tensorflow",),
    "tf-nightly-gpu": ("tensorflow",),
    **dict.fromkeys(("cupy-cuda90", "cupy-cuda92", "cupy-cuda100", "cupy-cuda101", "cupy-cuda102"), ("cupy-cuda12x",)),
}
# What is of no use without a GPU and has no other build.
GPU_ALONE = re.compile(r"cupy(?:-cuda.*)?|pycuda|nvidia-dali.*")


def normalised(name: str) -> str:
    """PyPI's one spelling of a name."""
    return re.sub(r"[-_.]+", "-", name).lower()
