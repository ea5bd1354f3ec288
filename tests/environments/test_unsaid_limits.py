import pytest

from trainyard.environments.old_numpy import needed


@pytest.mark.parametrize(
    ("versions", "found"),
    [
        ({"numpy": "2.4.6", "scikit-learn": "1.1.3"}, ["scikit-learn==1.1.3"]),
        ({"numpy": "2.0.0", "torch": "2.2.2+cpu", "pandas": "2.2.1"}, ["pandas==2.2.1", "torch==2.2.2+cpu"]),
        ({"numpy": "1.26.4", "scikit-learn": "1.1.3"}, []),
        ({"numpy": "2.4.6", "scikit-learn": "1.4.2", "scipy": "1.13.0"}, []),
        ({"scikit-learn": "1.1.3"}, []),
        ({"numpy": "2.4.6", "six": "1.0", "pandas": "odd"}, []),
    ],
)
def test_packages_of_numpy_1_beside_numpy_2(versions, found):
    assert needed(versions) == ((found and "numpy<2") or "", found)


def test_chainer_uses_names_that_numpy_has_dropped():
    assert needed({"numpy": "1.26.4", "chainer": "7.8.1"}) == ("numpy<1.24", ["chainer==7.8.1"])
    assert needed({"numpy": "1.23.5", "chainer": "7.8.1"}) == ("", [])
