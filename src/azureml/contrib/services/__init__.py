"""What scoring scripts import to handle requests and responses themselves."""

from azureml.contrib.services.aml_request import AMLRequest, rawhttp
from azureml.contrib.services.aml_response import AMLResponse

__all__ = ["AMLRequest", "AMLResponse", "rawhttp"]
