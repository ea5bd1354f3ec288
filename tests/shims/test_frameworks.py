"""Old scripts on the frameworks that are installed here, in processes of their own as jobs are."""

from __future__ import annotations

import gzip
import importlib.util
import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from shim_lines import said

Job = Callable[..., str]


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def test_numbers_print_without_their_type(job: Job) -> None:
    said = job("import numpy as np, json\nprint(json.loads(str(list(np.ones(2, 'f4')))), repr(np.int64(3)))\n")
    assert "[1.0, 1.0] 3" in said
    assert "trainyard:" not in said


def test_names_that_numpy_dropped(job: Job) -> None:
    output = job(
        "import numpy as np\n"
        "print(np.float(2), np.int is int, np.asscalar(np.array(7)), np.in1d([1, 2], [2]).tolist(), np.NINF)\n"
        "print(np.trapz([1, 1, 1]), np.product([2, 3]), np.float(1))\n"
        "print(np.math.sqrt(4), np.warnings.__name__, issubclass(np.VisibleDeprecationWarning, Warning))\n"
        "try:\n    np.nonsense\nexcept AttributeError as error:\n    print(error)\n"
    )
    assert "2.0 True 7 [False, True] -inf" in output
    assert "2.0 6 1.0" in output
    assert "2.0 warnings True" in output
    assert "has no attribute 'nonsense'" in output
    assert sum("np.float " in line for line in said(output)) == 1


def test_a_script_of_today_is_left_alone(job: Job) -> None:
    assert said(job("import numpy as np, json, urllib.request\nprint(np.float64(1), np.bool_)\n")) == []


def test_nothing_is_switched_on_without_being_asked(job: Job) -> None:
    assert "has no attribute 'float'" in job("import numpy as np\nnp.float(2)\n", shims="", fails=True)
    assert "has no attribute 'float'" in job("import numpy as np\nnp.float(2)\n", shims="torch,keras", fails=True)


def test_another_sitecustomize_still_counts(job: Job, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sitecustomize.py").write_text("import builtins\nbuiltins.also = 'here'\n")
    source = Path(__file__).parents[2] / "src"
    path = f"{source / 'trainyard' / 'shims' / 'startup'}:{source}:{tmp_path / 'more'}"
    assert "here 2.0" in job("import numpy; print(also, numpy.float(2))\n", PYTHONPATH=path)


@needs("sklearn")
def test_old_scikit_learn(job: Job) -> None:
    output = job(
        "from sklearn.externals import joblib\n"
        "from sklearn.linear_model import LogisticRegression, Ridge\n"
        "from sklearn.ensemble import GradientBoostingRegressor, AdaBoostClassifier\n"
        "from sklearn.tree import DecisionTreeRegressor, DecisionTreeClassifier\n"
        "from sklearn.feature_extraction.text import CountVectorizer\n"
        "from sklearn.cross_validation import train_test_split\n"
        "from sklearn.preprocessing import Imputer, OneHotEncoder\n"
        "from sklearn.base import clone\n"
        "clf = LogisticRegression(C=2.0, solver='lbfgs', multi_class='auto', random_state=42)\n"
        "clf.fit([[0.0], [1.0], [2.0]], [0, 1, 2])\n"
        "joblib.dump(clf, 'm.pkl')\n"
        "print('C', clone(joblib.load('m.pkl')).get_params()['C'], Ridge(normalize=False).alpha)\n"
        "print(DecisionTreeRegressor(criterion='mse', presort=True).fit([[0.0], [1.0]], [0, 1]).criterion)\n"
        "print(AdaBoostClassifier(base_estimator=DecisionTreeClassifier()).estimator)\n"
        "print(OneHotEncoder(sparse=False).fit_transform([[1], [2]]).tolist(), Imputer, train_test_split)\n"
        "print(CountVectorizer().fit(['bb aa']).vocabulary_)\n"
        "try:\n    Ridge(normalize=True)\nexcept TypeError as error:\n    print(error)\n"
    )
    assert "C 2.0 1.0" in output
    assert "squared_error" in output
    assert "DecisionTreeClassifier()" in output
    assert "[[1.0, 0.0], [0.0, 1.0]]" in output
    assert "Put a StandardScaler before it in a Pipeline." in output
    assert any("sklearn.externals.joblib" in line for line in said(output))


@needs("sklearn")
def test_scikit_learn_before_its_modules_were_private(job: Job) -> None:
    """Pickled models name them, too."""
    output = job(
        "import importlib\n"
        "from trainyard.shims.sklearn_table import MODULES\n"
        "print(len([importlib.import_module(name) for name in MODULES]) > 90)\n"
        "from sklearn.metrics.classification import accuracy_score\n"
        "from sklearn.cluster.k_means_ import KMeans\n"
        "print(accuracy_score([1], [1]), KMeans)\n"
    )
    assert output.splitlines()[-1] == "1.0 <class 'sklearn.cluster._kmeans.KMeans'>"


@needs("sklearn")
def test_what_scikit_learn_did_by_default(job: Job) -> None:
    output = job(
        "import numpy as np\n"
        "from sklearn import datasets, metrics\n"
        "from sklearn.linear_model import LogisticRegression, SGDClassifier\n"
        "from sklearn.preprocessing import Imputer, PolynomialFeatures\n"
        "print(metrics.mean_squared_error([0, 0], [3, 3], squared=False))\n"
        "print(metrics.mean_squared_error([0, 0], [3, 3], squared=True), metrics.mean_squared_error([0], [2]))\n"
        "print(LogisticRegression(penalty='l1').fit([[0.0], [1.0]], [0, 1]).solver)\n"
        "print(Imputer(missing_values='NaN', strategy='mean', axis=0).fit_transform([[1.0], [np.nan], [3.0]])[1])\n"
        "print(PolynomialFeatures(2).fit([[1.0]]).get_feature_names())\n"
        "old = SGDClassifier(loss='log', n_iter=7)\n"
        "print(old.max_iter, old.tol, old.loss)\n"
        "try:\n    datasets.fetch_mldata\nexcept AttributeError as error:\n    print(error)\n"
    )
    for line in ("3.0", "9.0 4.0", "liblinear", "[2.]", "['1', 'x0', 'x0^2']", "7 None log_loss"):
        assert line in output.splitlines()
    assert "fetch_openml has the data" in output


@needs("sklearn")
def test_one_class_against_the_rest_by_any_solver(job: Job) -> None:
    """Also for the clones that a search makes."""
    output = job(
        "import numpy as np\n"
        "from sklearn.datasets import load_iris\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.model_selection import GridSearchCV\n"
        "from sklearn.multiclass import OneVsRestClassifier\n"
        "X, y = load_iris(return_X_y=True)\n"
        "asked = LogisticRegression(multi_class='ovr', max_iter=500)\n"
        "old = GridSearchCV(asked, {'C': [2.0]}, cv=2).fit(X, y)\n"
        "new = OneVsRestClassifier(LogisticRegression(C=2.0, max_iter=500)).fit(X, y)\n"
        "print(np.allclose(old.predict_proba(X), new.predict_proba(X)))\n"
    )
    assert "True" in output.splitlines()


@needs("sklearn")
def test_liblinear_with_several_classes(job: Job) -> None:
    """Against scikit-learn's own one-against-the-rest."""
    output = job(
        "import numpy as np\n"
        "from sklearn.datasets import load_iris\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.multiclass import OneVsRestClassifier\n"
        "X, y = load_iris(return_X_y=True)\n"
        "old = LogisticRegression(C=2.0, solver='liblinear', multi_class='ovr', random_state=42).fit(X, y)\n"
        "new = OneVsRestClassifier(LogisticRegression(C=2.0, solver='liblinear', random_state=42)).fit(X, y)\n"
        "print(old.coef_.shape, (old.predict(X) == new.predict(X)).all(), old.score(X, y) > 0.9)\n"
        "print(np.allclose(old.predict_proba(X), new.predict_proba(X)))\n"
        "print(LogisticRegression(solver='liblinear').fit(X, y == 1).coef_.shape)\n"
    )
    for line in ("(3, 4) True True", "True", "(1, 4)"):
        assert line in output.splitlines()


@needs("torch", "mlflow")
def test_a_model_that_mlflow_logs_without_an_example_is_kept_whole(job: Job) -> None:
    output = job(
        "import torch, mlflow.pytorch\n"
        "mlflow.pytorch.save_model(torch.nn.Linear(2, 1), 'model')\n"
        "print(mlflow.pytorch.load_model('model')(torch.ones(1, 2)).shape)\n"
    )
    assert "trainyard: torch: mlflow.pytorch keeps the model whole (serialization_format='pickle'), as it" in output
    assert "torch.Size([1, 1])" in output


@needs("torch", "onnx")
def test_a_model_is_exported_to_onnx_as_one_file(job: Job) -> None:
    output = job(
        "import os, torch\n"
        "os.makedirs('exported')\n"
        "net = torch.nn.Linear(3, 2)\n"
        "torch.onnx.export(net, torch.zeros(1, 3), 'exported/net.onnx', input_names=['in'], output_names=['out'])\n"
        "print(os.listdir('exported'))\n"
    )
    assert "trainyard: torch: torch.onnx.export writes one file, as before PyTorch 2.9 (dynamo=False)." in output
    assert "['net.onnx']" in output


@needs("torch")
def test_old_torch(job: Job, tmp_path: Path) -> None:
    output = job(
        "import os, pickle, shutil, torch\n"
        "from torch.autograd import Variable\n"
        "class Net(torch.nn.Module):\n    def forward(self, x): return x * 2\n"
        "os.makedirs('outputs', exist_ok=True)\n"
        "torch.save(Net(), 'outputs/net.pt')\n"
        "print(torch.load('outputs/net.pt')(3), torch.load(open('outputs/net.pt', 'rb'))(4))\n"
        "loss = Variable(torch.tensor(1.5))\n"
        "print('loss', loss.data[0], torch.tensor([5, 6])[0].item())\n"
        "shutil.copy('outputs/net.pt', os.environ['ELSEWHERE'])\n"
        "try:\n    torch.load(os.environ['ELSEWHERE'])\nexcept pickle.UnpicklingError:\n    print('refused')\n",
        ELSEWHERE=str(tmp_path.parent / "elsewhere.pt"),
    )
    assert "6 8" in output
    assert "loss 1.5 5" in output
    assert "refused" in output
    lines = said(output)
    assert any("reads net.pt whole" in line for line in lines)
    assert any("loss.item()" in line for line in lines)
    assert any("no file of this run" in line for line in lines)


@needs("tensorflow", "tf_keras")
def test_a_script_of_tensorflow_one(job: Job) -> None:
    output = job(
        "import tensorflow as tf\n"
        "import numpy as np\n"
        "from helper import session\n"
        "x = tf.placeholder(tf.float32, [None, 2], name='x')\n"
        "y = tf.layers.dense(x, 1, kernel_initializer=tf.ones_initializer())\n"
        "two = tf.constant(2.0)\n"
        "with session() as s:\n"
        "    s.run(tf.global_variables_initializer())\n"
        "    print('result', float(s.run(y * two, {x: np.ones((1, 2))})[0, 0]))\n"
        "try:\n    tf.contrib.layers\nexcept AttributeError as error:\n    print(error)\n"
        "try:\n    import tensorflow.contrib.slim\nexcept ImportError as error:\n    print('import:', error)\n"
        "from keras import backend\nfrom keras.backend.tensorflow_backend import set_session\n"
        "set_session(session())\nbackend.set_session(session())\n"
        "print('same', backend.get_session() is not None, tf.keras.backend.get_session is not None)\n",
        helper="import tensorflow as tf\ndef session():\n    return tf.Session()\n",
    )
    assert "result 4.0" in output
    assert "\ntf.contrib left TensorFlow with 2.0" in output
    assert "import: tf.contrib left TensorFlow with 2.0" in output
    assert "same True True" in output
    assert any("tensorflow: this is a script of TensorFlow 1" in line for line in said(output))


@needs("tensorflow", "tf_keras")
def test_a_scoring_script_of_tensorflow_one(job: Job, tmp_path: Path) -> None:
    """The program is the service's own; the user's script is what it loads."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "score.py").write_text(
        "import tensorflow as tf\n"
        "def init():\n    with tf.Session() as s:\n        print('is', s.run(tf.constant(3.0)))\n"
    )
    load = "import sys; sys.path.insert(0, 'app'); import score; score.init()\n"
    app = str(tmp_path / "app")
    output = job(load, AZUREML_ENTRY_SCRIPT="score.py", AZUREML_SOURCE_DIRECTORY=app, AML_APP_ROOT=app)
    assert "is 3.0" in output


@needs("tensorflow", "tf_keras")
def test_a_script_of_keras_two(job: Job) -> None:
    """`lr=`: the last Keras 2 leaves it out without a word, and Keras 3 refuses it."""
    output = job(
        "from keras.models import Sequential\n"
        "from keras.layers.core import Dense\n"
        "from keras.optimizers import RMSprop, SGD\n"
        "from keras.utils import np_utils\n"
        "import tensorflow as tf\n"
        "print('rate', float(RMSprop(lr=0.25).learning_rate))\n"
        "model = Sequential([Dense(1, input_shape=(1,), use_bias=False)])\n"
        "model.set_weights([np_utils.to_categorical([0], 1)])\n"
        "model.compile(optimizer=SGD(lr=0.5, decay=0.5), loss='mse')\n"
        "model.fit(tf.constant([[1.0]]), tf.constant([[0.0]]), epochs=2, verbose=0)\n"
        "print('weight', float(model.get_weights()[0][0, 0]))\n"
        "print('same', isinstance(model, tf.keras.Model))\n"
        "from keras.callbacks import ModelCheckpoint\n"
        "ones = tf.ones([4, 1])\n"
        "model = Sequential([Dense(2, input_shape=(1,), activation='softmax')])\n"
        "model.compile('sgd', 'sparse_categorical_crossentropy', metrics=['accuracy'])\n"
        "best = ModelCheckpoint('best.h5', monitor='val_acc', save_best_only=True)\n"
        "logs = model.fit(ones, ones, verbose=0, validation_data=(ones, ones), callbacks=[best]).history\n"
        "print(sorted(logs), model.predict_classes(ones, verbose=0).shape)\n"
        "import os\nprint('kept', os.path.isfile('best.h5'))\n"
    )
    assert "rate 0.25" in output
    # the first step goes by 0.5 * 2w, to 0; nothing is left for the second
    assert "weight 0.0" in output
    assert "same True" in output
    assert "['acc', 'loss', 'val_acc', 'val_loss'] (4,)" in output
    assert "kept True" in output
    assert any("script of Keras 2" in line for line in said(output))


@needs("keras", "tensorflow")
def test_a_rate_under_its_old_name_on_keras_three(job: Job) -> None:
    script = "import keras\nprint(keras.__version__[0], float(keras.optimizers.Adam(lr=0.125).learning_rate))\n"
    assert "3 0.125" in job(script, TF_USE_LEGACY_KERAS="0")


def digits(folder: Path) -> None:
    folder.mkdir()
    for part, count in (("train", 6), ("t10k", 2)):
        pixels = bytes(index % 256 for index in range(count * 28 * 28))
        images = struct.pack(">IIII", 2051, count, 28, 28) + pixels
        labels = struct.pack(">II", 2049, count) + bytes(range(count))
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))


@needs("tensorflow")
def test_the_digits_of_tensorflows_examples(job: Job, tmp_path: Path) -> None:
    digits(tmp_path / "there")
    output = job(
        "from tensorflow.examples.tutorials.mnist import input_data\n"
        "for folder in ('there', 'fetched'):\n"
        "    mnist = input_data.read_data_sets(folder, one_hot=True, validation_size=2)\n"
        "    print(mnist.train.num_examples, mnist.validation.num_examples, mnist.test.images.shape)\n"
        "    print(mnist.train.images.dtype, float(mnist.validation.images[0, 255]), mnist.test.labels[1].argmax())\n"
        "    seen = [mnist.train.next_batch(3) for _ in range(4)]\n"
        "    digits = sorted(sum([labels.argmax(1).tolist() for _, labels in seen], []))\n"
        "    print(seen[1][0].shape, mnist.train.epochs_completed, digits)\n",
        TRAINYARD_URL_MAP=json.dumps(
            {"https://storage.googleapis.com/cvdf-datasets/mnist/": f"file://{tmp_path}/there/"}
        ),
    )
    for line in ("4 2 (2, 784)", "float32 1.0 1", "(3, 784) 2 [2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]"):
        assert output.count(line) == 2, output
    assert (tmp_path / "fetched" / "t10k-labels-idx1-ubyte.gz").is_file()


def test_addresses_inside_libraries_follow_the_map(job: Job, tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "x.txt").write_text("mirrored")
    output = job(
        "import urllib.request\n"
        "print(urllib.request.urlopen('https://data.example/set/x.txt').read())\n"
        "print(urllib.request.urlretrieve('https://data.example/set/x.txt', 'y.txt')[0])\n",
        TRAINYARD_URL_MAP=json.dumps(
            {
                "https://data.example/": "http://nowhere.invalid/",
                "https://data.example/set/": f"file://{tmp_path}/mirror/",
            }
        ),
    )
    assert "mirrored" in output
    assert len(said(output)) == 1
