"""Workers of the page: newer wishes replace older ones, what hangs is ended."""

import time

import pytest

pytest.importorskip("dash")

from widthwise.explorer.compute import Cache, Dropped, TookTooLong, Workers


@pytest.fixture
def workers():
    pool = Workers(1, 20.0)
    yield pool
    pool.close()


def test_results_and_errors_come_back(workers):
    assert workers.submit("a", divmod, 7, 2).result(60) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        workers.submit("a", divmod, 7, 0).result(60)


def test_a_newer_wish_replaces_an_older_one(workers):
    workers.submit("warm", abs, -1).result(60)
    running = workers.submit("tab", time.sleep, 3600)
    time.sleep(0.3)
    waiting = workers.submit("tab", time.sleep, 3601)
    last = workers.submit("tab", abs, -5)
    for old in (running, waiting):
        with pytest.raises(Dropped):
            old.result(120)
    assert last.result(120) == 5  # in a fresh process, long before the others would have ended


def test_other_owners_are_left_alone(workers):
    first = workers.submit("one", time.sleep, 0.5)
    second = workers.submit("two", abs, -2)
    assert first.result(60) is None and second.result(60) == 2


def test_what_takes_too_long_is_ended():
    pool = Workers(1, 0.5)
    try:
        with pytest.raises(TookTooLong):
            pool.submit("a", time.sleep, 60).result(30)
        assert pool.submit("a", abs, -3).result(30) == 3
    finally:
        pool.close()


def test_cache_keeps_what_was_used_last():
    cache = Cache(2)
    for key in "ab":
        cache.put(key, key.upper())
    cache.get("a")
    cache.put("c", "C")
    assert [cache.get(key) for key in "abc"] == ["A", None, "C"]
