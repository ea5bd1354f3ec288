"""The names of azureml.train that this version of Trainyard has."""
