"""The server: headers, limits, and that bad requests leave it alive."""

import http.cookiejar
import json
import urllib.error
import urllib.request

import pytest

pytest.importorskip("dash")

from patience import PATIENCE
from widthwise.explorer.security import is_home, new_token
from widthwise.explorer.server import Running

pytestmark = pytest.mark.waits


def fetch(address, path="", data=None, **headers):
    request = urllib.request.Request(address + path, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
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
    host = address.split("/")[2]
    assert fetch(address, Origin=f"http://{host}")[0] == 200
    for origin in (
        f"http://evil://{host}",
        f"evil://{host}",
        f"http://user@{host}",
        f"http://{host}.evil.example",
        f"http://{host}/",
        host,
        "null",
        "",
    ):
        assert fetch(address, Origin=origin)[0] == 403, origin


def test_a_page_that_others_can_reach_asks_for_its_token(monkeypatch):
    """Served on this machine all the same: only the address is called foreign."""
    monkeypatch.setattr("widthwise.explorer.server.is_home", lambda host: False)
    monkeypatch.setenv("WIDTHWISE_TOKEN", "a secret & more")
    with Running() as running:
        address = running.address
        assert running.entry == f"{address}?token=a%20secret%20%26%20more"
        for path in ("", "_dash-layout", "assets/page.js", "?token=", "?token=a%20secret"):
            status, _, body = fetch(address, path)
            assert (
                status == 401 and body == b"a token is asked for: open the address that the server printed\n"
            )
        json_type = {"Content-Type": "application/json"}
        assert fetch(address, "live/curve?token=a%20secret%20%26%20more", b"{}", **json_type)[0] == 401
        assert fetch(address, Cookie="widthwise-token=wrong")[0] == 401
        jar = http.cookiejar.CookieJar()
        visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        with visitor.open(running.entry + "&gamma=0.3", timeout=PATIENCE) as answer:
            assert answer.status == 200 and answer.url == address + "?gamma=0.3"
        (cookie,) = jar
        assert cookie.has_nonstandard_attr("HttpOnly") and cookie.get_nonstandard_attr("SameSite") == "Strict"
        assert visitor.open(address + "_dash-layout", timeout=PATIENCE).status == 200


def test_which_addresses_are_this_machine():
    assert all(map(is_home, ("127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]")))
    assert not any(map(is_home, ("0.0.0.0", "::", "192.168.0.3", "example.org", "localhost.example.org", "")))
    assert new_token() != new_token() and len(new_token()) >= 32


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
        json.dumps({"gamma": 10**400, "alpha": 10**400, "reach": 10**400, "noise": True}).encode(),
        json.dumps({"activation": "own", "formula": "(" * 150 + "x" + ")" * 150, "alpha": 1}).encode(),
        b"[" * 50_000,
        b"x" * 2_100_000,
    ]
    for path in ("_dash-update-component", "live/curve", "live/point"):
        for body in bodies * 4:
            status, _, text = fetch(address, path, body, **{"Content-Type": "application/json"})
            assert 200 <= status < 500 and b"Traceback" not in text
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
