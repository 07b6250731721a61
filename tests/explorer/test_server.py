"""The server: headers, limits, and that bad requests leave it alive."""

import json
import urllib.error
import urllib.request

import pytest

pytest.importorskip("dash")


def fetch(address, path="", data=None, **headers):
    request = urllib.request.Request(address + path, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_headers_forbid_everything_foreign(address):
    status, headers, body = fetch(address)
    policy = headers["Content-Security-Policy"]
    assert status == 200
    assert "default-src 'self'" in policy and "unsafe-eval" not in policy and "http" not in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY"
    assert b"https://" not in body.replace(b"https://dash.plotly.com", b"")


def test_requests_from_elsewhere_are_refused(address):
    body = json.dumps({}).encode()
    json_type = {"Content-Type": "application/json"}
    for path in ("_dash-update-component", "live/curve", "live/point"):
        assert fetch(address, path, body, Origin="http://evil.example", **json_type)[0] == 403
    assert fetch(address, Host="evil.example")[0] == 403


def test_a_flood_of_bad_requests_leaves_it_alive(address):
    bodies = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff" * 100,
        b'{"output": "exact.data"}',
        json.dumps({"output": "nothing.data", "inputs": []}).encode(),
        json.dumps(_call("exact.data", {"settled": "x"})).encode(),
        json.dumps(_call("exact.data", {"settled": {"gamma": "x" * 1000, "formula": ["a"]}})).encode(),
        json.dumps({"gamma": "x" * 1000, "formula": ["a"], "activation": "own", "tab": [1]}).encode(),
        json.dumps({"gamma": {}, "readouts": [[]], "alpha": "1e999", "reach": None}).encode(),
        json.dumps({"activation": "own", "formula": "(" * 150 + "x" + ")" * 150, "alpha": 1}).encode(),
        b"[" * 50_000,
        b"x" * 2_100_000,
    ]
    for path in ("_dash-update-component", "live/curve", "live/point"):
        for body in bodies * 4:
            status, _, text = fetch(address, path, body, **{"Content-Type": "application/json"})
            assert status >= 200 and b"Traceback" not in text
    assert fetch(address, "live/curve", b"{}", **{"Content-Type": "text/plain"})[0] == 415
    for path in (
        "../../etc/passwd",
        "assets/../server.py",
        "_dash-component-suites/none/x.js",
        "%00",
        "a" * 3000,
    ):
        assert fetch(address, path)[0] in (200, 400, 404, 414, 500)
        assert b"root:" not in fetch(address, path)[2] and b"def make_app" not in fetch(address, path)[2]
    assert fetch(address)[0] == 200 and fetch(address, "_dash-layout")[0] == 200


def _call(output, values):
    inputs = [{"id": name, "property": "data", "value": value} for name, value in values.items()]
    return {"output": output, "outputs": [], "inputs": inputs, "changedPropIds": ["settled.data"]}
