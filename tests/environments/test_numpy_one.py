import pytest

from trainyard.environments.numpy_one import built_for_it


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
    assert built_for_it(versions) == found
