from __future__ import annotations

import pytest

from azureml.contrib.services.aml_request import AMLRequest, rawhttp
from azureml.contrib.services.aml_response import AMLResponse
from trainyard.scoring.messages import answer_from
from trainyard.scoring.wire import Request


def request(body: bytes = b"", **settings) -> AMLRequest:
    return AMLRequest(Request(body, **settings))


def test_a_request_answers_to_flask_s_names() -> None:
    headers = (("content-type", "application/json; charset=utf-8"), ("host", "yard:80"), ("x-two", "a"), ("x-two", "b"))
    made = request(b'{"a": 1}', method="POST", path="/score", query="n=1&n=2&empty=", headers=headers)
    assert (made.method, made.path, made.query_string) == ("POST", "/score", b"n=1&n=2&empty=")
    assert made.url == "http://yard:80/score?n=1&n=2&empty="
    assert str(made) == "<Request 'http://yard:80/score?n=1&n=2&empty=' [POST]>"
    assert made.get_data() == made.data == made.stream.read() == b'{"a": 1}'
    assert made.get_data(as_text=True) == '{"a": 1}'
    assert (made.json, made.is_json, made.mimetype, made.content_length) == ({"a": 1}, True, "application/json", 8)
    assert made.args["n"] == made.args.get("n") == "1"
    assert made.args.getlist("n") == ["1", "2"]
    assert made.args.get("n", type=int) == 1
    assert made.args.get("empty", 7, type=int) == 7
    assert made.args.get("none", "other") == "other"
    assert made.headers["CONTENT-type"] == "application/json; charset=utf-8"
    assert made.headers.getlist("x-two") == ["a", "b"]
    assert "x-three" not in made.headers


def test_json_that_is_none() -> None:
    assert request(b"{", headers=(("content-type", "application/json"),)).get_json(silent=True) is None
    assert request(b"[1]").get_json(force=True) == [1]
    with pytest.raises(ValueError, match="not application/json"):
        _ = request(b"[1]").json


def test_a_form() -> None:
    made = request(b"a=1&b=x+y", headers=(("content-type", "application/x-www-form-urlencoded"),))
    assert (made.form, made.files, made.values["b"]) == ({"a": "1", "b": "x y"}, {}, "x y")


def test_an_upload_can_be_saved(tmp_path) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\n\r\n\x00\x01\r\n\r\n--x--\r\n'
    made = request(body, headers=(("content-type", "multipart/form-data; boundary=x"),))
    made.files["f"].save(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == b"\x00\x01\r\n"


@pytest.mark.parametrize(
    ("response", "status", "body", "content_type"),
    [
        (AMLResponse("hi", 200), 200, b"hi", "text/html; charset=utf-8"),
        (AMLResponse({"a": 1}, 201, json_str=True), 201, b'{"a": 1}', "application/json"),
        (AMLResponse(None, 200), 200, b"{}", "application/json"),
        (AMLResponse(b"\x89PNG", 200, {"Content-Type": "image/png"}), 200, b"\x89PNG", "image/png"),
    ],
)
def test_a_response(response: AMLResponse, status: int, body: bytes, content_type: str) -> None:
    answer = answer_from(response)
    assert answer is not None
    assert (answer.status, answer.body, dict(answer.headers)["content-type"]) == (status, body, content_type)
    assert dict(answer.headers)["x-ms-run-function-failed"] == "False"


def test_repeated_headers_and_those_that_are_ours() -> None:
    response = AMLResponse("x", 200, {"Set-Thing": "a, b", "Content-Length": "999", "Connection": "close"})
    answer = answer_from(response)
    assert answer is not None
    assert [value for name, value in answer.headers if name == "set-thing"] == ["a", "b"]
    assert not {"content-length", "connection"} & {name for name, _ in answer.headers}


def test_an_error_says_that_run_failed() -> None:
    answer = answer_from(AMLResponse("no", 500))
    assert answer is not None
    assert [value for name, value in answer.headers if name == "x-ms-run-function-failed"] == ["True"]


def test_what_is_no_response() -> None:
    assert answer_from({"status_code": 200}) is None
    with pytest.raises(TypeError, match="json_str=True"):
        AMLResponse({"a": 1}, 200)


def test_rawhttp_marks_and_keeps_the_function() -> None:
    def run(request):
        return request

    assert rawhttp(run) is run
