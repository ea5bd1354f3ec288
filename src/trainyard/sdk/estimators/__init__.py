"""The estimators of 2018 and 2020."""
