import pytest

from trainyard.environments import unsaid_limits


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
    assert unsaid_limits.of(versions) == ({"numpy<2": found} if found else {})


def test_chainer_uses_names_that_numpy_has_dropped():
    assert unsaid_limits.of({"numpy": "1.26.4", "chainer": "7.8.1"}) == {"numpy<1.24": ["chainer==7.8.1"]}
    assert unsaid_limits.of({"numpy": "1.23.5", "chainer": "7.8.1"}) == {}


@pytest.mark.parametrize(
    ("learn", "scipy", "found"),
    [
        ("1.1.3", "1.17.1", {"scipy<1.14": ["scikit-learn==1.1.3"]}),
        ("1.3.2", "1.14.0", {"scipy<1.14": ["scikit-learn==1.3.2"]}),
        ("1.1.3", "1.13.1", {}),
        ("1.4.0", "1.17.1", {}),
    ],
)
def test_parameters_that_scipy_has_dropped(learn, scipy, found):
    assert unsaid_limits.of({"numpy": "1.26.4", "scikit-learn": learn, "scipy": scipy}) == found


def test_one_package_may_ask_for_two_limits():
    old = ["scikit-learn==1.1.3"]
    there = {"numpy": "2.4.6", "scikit-learn": "1.1.3", "scipy": "1.17.1"}
    assert unsaid_limits.of(there) == {"numpy<2": old, "scipy<1.14": old}
