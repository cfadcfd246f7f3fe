#!/usr/bin/python3
"""tests/e2e/test_access.py: signing in by the forms of the pages, as a browser without scripts does it: sessions, their end,
forms of other sessions and sites, a token that is revoked under its session, cookies behind TLS; and the limits on how often
an address and a token may ask."""
import contextlib
import json
import os
import re
import sqlite3
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
from daybreak import Server, Tap  # noqa: E402

TYPE = "application/x-www-form-urlencoded"


class Browser:
    """Keeps cookies, sends forms; follows nothing by itself."""

    def __init__(self, server, headers=None):
        self.server, self.cookies, self.headers = server, {}, dict(headers or {})
        self.status, self.page, self.place, self.set_cookie = 0, "", None, None

    def send(self, method, path, body=None, headers=None):
        send = {**self.headers, **(headers or {})}
        if self.cookies:
            send["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if body is not None:
            send.setdefault("Content-Type", TYPE)
        self.status, answer, data = self.server.request(method, path, body, headers=send)
        self.page, self.place, self.set_cookie = data.decode(), answer.get("Location"), answer.get("Set-Cookie")
        if self.set_cookie:
            name, value = self.set_cookie.split(";")[0].split("=", 1)
            if "Max-Age=0" in self.set_cookie:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return self.status

    def get(self, path):
        return self.send("GET", path)

    def post(self, path, fields, headers=None):
        return self.send("POST", path, urllib.parse.urlencode(fields).encode(), headers)

    def sign_in(self, token, back="/"):
        return self.post("/login", {"token": token, "back": back})

    def csrf(self, path="/"):
        self.get(path)
        found = re.search(r'name="csrf" value="([^"]+)"', self.page)
        return found.group(1) if found else None


def check_sign_in(tap, server, admin):
    page = Browser(server)
    tap.ok(page.get("/tokens") == 303 and page.place == "/login?back=%2Ftokens", "a page that needs somebody leads to /login", page.place)
    tap.ok(page.get("/login?back=/tokens") == 200 and 'name="back" value="/tokens"' in page.page, "the form knows where one came from")
    tap.ok(page.sign_in("nonsense") == 401 and 'role="alert"' in page.page and not page.set_cookie, "a wrong token is told on the page")
    tap.ok(page.sign_in("") == 401 and "A token is needed" in page.page, "and so is none")
    tap.ok(page.sign_in(admin, "/tokens?limit=5") == 303 and page.place == "/tokens?limit=5", "signing in leads back", page.place)
    wanted = r"daybreak=[\w-]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$"
    tap.ok(re.match(wanted, page.set_cookie or ""), "the cookie is kept from scripts and other sites", page.set_cookie)
    tap.ok(page.get("/tokens") == 200 and "Ada &amp; co" in page.page and "Sign out" in page.page, "the page says who is signed in")
    for back in ("//evil.example", "https://evil.example", "/\\evil.example", "evil", "/login?back=/", "/a\r\nSet-Cookie: x=y", "/" + "x" * 2000):
        other = Browser(server)
        tap.ok(other.sign_in(admin, back) == 303 and other.place == "/", f"back to {back[:30]!r} leads home", other.place)
    agent = Browser(server)
    tap.ok(agent.sign_in(server.token("agent-registration")) == 403, "a program's token signs nobody in")
    with contextlib.closing(sqlite3.connect(f"file:{server.db}?mode=ro", uri=True)) as db:
        rows = [row[0] for row in db.execute("SELECT hex(secret_sha256) FROM session")]
    secret = page.cookies["daybreak"]
    with open(server.db, "rb") as file:
        tap.ok(rows and secret.encode() not in file.read(), "the cookie is not in the database")
    return page


def check_forms(tap, server, page, admin):
    csrf = page.csrf("/tokens")
    issue = {"role": "submitter", "name": "Bob", "ttl_days": "", "csrf": csrf}
    tap.ok(page.post("/tokens", issue) == 200, "the form issues a token")
    made = re.search(r'id="made">(dbk_submitter_\d+_[\w-]+)<', page.page)
    tap.ok(made and server.request("GET", "/v1/submissions", token=made.group(1))[0] == 200, "and shows it, once")
    tap.ok(page.get("/tokens") == 200 and "dbk_submitter" not in page.page, "and no more")
    tap.ok(page.post("/tokens", {**issue, "scope-submit": "1", "name": "narrow"}) == 200, "with scopes that were ticked")
    tap.ok(page.post("/tokens", {**issue, "ttl_days": "x"}) == 422 and 'value="Bob"' in page.page and "ttl_days" in page.page,
           "a refused form comes back filled in")
    tap.ok(page.post("/tokens", {**issue, "role": "agent"}) == 403, "nobody issues an agent's token")
    tap.ok(page.post("/tokens", {k: v for k, v in issue.items() if k != "csrf"}) == 403, "a form without its session's field is refused")
    other = Browser(server)
    other.sign_in(admin)
    tap.ok(other.csrf() not in (None, csrf), "another session has another field")
    tap.ok(page.post("/tokens", {**issue, "csrf": other.csrf()}) == 403 and "another" not in page.set_cookie if page.set_cookie else
           page.status == 403, "and one of another session is refused")
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        tap.ok(page.post("/tokens", issue, headers) == 403, f"a form with {headers} is refused")
        tap.ok(Browser(server).post("/login", {"token": admin}, headers) == 403, f"signing in with {headers} as well")
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    tap.ok(page.post("/tokens", {**issue, "name": "own"}, own) == 200, "a form of this site is taken")
    tap.ok(page.send("POST", "/tokens", b"{}", {"Content-Type": "application/json"}) == 415, "a form is a form")
    for body in (b"csrf=%", b"name=%00", b"name=a&name=b"):
        tap.ok(page.send("POST", "/tokens", body) == 422, f"{body} is none")
    tap.ok(page.send("POST", "/tokens", b"a" * 20000) == 413, "nor is one too large")


def check_scopes(tap, server):
    submitter, operator = Browser(server), Browser(server)
    submitter.sign_in(server.token("submitter"))
    tap.ok(submitter.get("/tokens") == 403 and "tokens" in submitter.page, "a page says which scope is missing")
    tap.ok(submitter.get("/") == 200 and 'href="/tokens"' not in submitter.page, "and no link leads there")
    operator.sign_in(server.token("operator"))
    csrf = operator.csrf("/tokens")
    tap.ok('value="admin"' not in operator.page and "bytes_max" not in operator.page, "an operator is offered what he may issue")
    tap.ok(operator.post("/tokens", {"role": "admin", "name": "x", "csrf": csrf}) == 403, "and gets nothing else")
    narrow = Browser(server)
    narrow.sign_in(server.command("token", "create", "--role", "admin", "--name", "narrow", "--scopes", "review").strip())
    tap.ok(narrow.get("/tokens") == 403, "a session has its token's scopes")


def count_sessions(server):
    with contextlib.closing(sqlite3.connect(f"file:{server.db}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM session").fetchone()[0]


def wait_until(check, tries=600):
    for _ in range(tries):
        if check():
            return True
        time.sleep(0.1)
    return False


def check_ends(tap, server, page, admin):
    page.csrf()
    old = dict(page.cookies)
    tap.ok(page.post("/logout", {"csrf": ""}) == 403, "signing out takes the session's own form")
    tap.ok(page.post("/logout", {"csrf": page.csrf()}) == 303 and not page.cookies, "it forgets the cookie")
    page.cookies = old
    tap.ok(page.get("/tokens") == 303, "and ends the session here, too")
    page.cookies = {}
    page.sign_in(admin)
    csrf = page.csrf()
    server.stop()
    server.start()
    tap.ok(page.csrf() == csrf, "a session and its forms outlive a restart")
    with contextlib.closing(sqlite3.connect(server.db)) as db, db:
        db.execute("UPDATE session SET created_ms = 1, expires_ms = 2 WHERE ended_ms IS NULL")
    tap.ok(page.get("/tokens") == 303, "a session ends after its time")
    tap.ok(page.get("/") == 200 and "Sign in" in page.page, "other pages are as for anybody")
    tap.ok(page.post("/tokens", {"role": "submitter", "name": "x", "csrf": csrf}) == 401, "its forms do nothing more")
    with contextlib.closing(sqlite3.connect(server.db)) as db, db:
        db.execute("UPDATE session SET expires_ms = ? WHERE expires_ms = 2", (int(time.time() * 1000) - 23 * 3600 * 1000,))
        before = db.execute("SELECT count(*) FROM session").fetchone()[0]
        db.execute("INSERT INTO session VALUES (zeroblob(32), 1, 1, ?, NULL)", (int(time.time() * 1000) - 25 * 3600 * 1000,))
    server.stop()
    server.start()
    tap.ok(wait_until(lambda: count_sessions(server) == before), "a session is kept for a day after its end, and no longer",
           f"{count_sessions(server)} are there, of {before}")
    token = server.token("admin", "short-lived")
    page.cookies = {}
    page.sign_in(token)
    tap.ok(page.get("/tokens") == 200, "a new one begins")
    number = token.split("_")[2]
    csrf = page.csrf("/tokens")
    other = Browser(server)
    other.sign_in(admin)
    tap.ok(other.post(f"/tokens/{number}/revoke", {"csrf": other.csrf()}) == 303 and other.place == "/tokens", "the page revokes a token")
    tap.ok(page.get("/tokens") == 303, "which kills its sessions")
    tap.ok(page.post("/tokens", {"role": "submitter", "name": "x", "csrf": csrf}) == 401, "and their forms")
    planted = Browser(server)
    planted.cookies = {"daybreak": "A" * 43}
    tap.ok(planted.get("/tokens") == 303 and planted.get("/") == 200, "a cookie that nobody gave is as none")


def check_tls(tap):
    with Server() as server:
        admin = server.token("admin")
        server.start(extra=("--trusted-proxy", "127.0.0.1"))
        proxied = Browser(server, {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"})
        tap.ok(proxied.sign_in(admin) == 303 and proxied.set_cookie.startswith("__Host-daybreak=") and
               proxied.set_cookie.endswith("; Secure"), "behind TLS the cookie is Secure and bound to the host", proxied.set_cookie)
        tap.ok(proxied.get("/tokens") == 200, "and is read there")
        plain = Browser(server)
        plain.cookies = dict(proxied.cookies)
        tap.ok(plain.get("/tokens") == 303, "but not without TLS")
    with Server() as server:
        admin = server.token("admin")
        server.start()
        liar = Browser(server, {"X-Forwarded-Proto": "https"})
        tap.ok(liar.sign_in(admin) == 303 and liar.set_cookie.startswith("daybreak="), "nobody but the proxy is believed", liar.set_cookie)
        server.stop()
        server.start(extra=("--https",))
        told = Browser(server)
        tap.ok(told.sign_in(admin) == 303 and "Secure" in told.set_cookie, "--https says it for a server that no proxy tells")


def from_address(address):
    return {"X-Forwarded-For": address}


def refused_at_last(server, tries, **request):
    """The first answer 429 of that many requests: None without one."""
    for _ in range(tries):
        status, headers, body = server.request(**request)
        if status == 429:
            return headers, json.loads(body)
    return None


def check_limits(tap):
    with Server() as server:
        admin = server.token("admin")
        server.start(extra=("--trusted-proxy", "127.0.0.1", "--rate-address", "1", "--rate-token", "1"))
        tasks = {"method": "GET", "path": "/v1/tasks"}
        refused = refused_at_last(server, 200, **tasks, headers=from_address("2001:db8:0:1::1"))
        tap.ok(refused and refused[1]["code"] == "rate-limited" and int(refused[0]["Retry-After"]) >= 1 and
               refused[0]["Content-Type"] == "application/problem+json", "an address that asks too often is told when to go on", refused)
        tap.ok(server.request(**tasks, headers=from_address("2001:db8:0:1:ffff::7"))[0] == 429, "its whole /64 with it")
        asked = [server.request(method, path, None, None, from_address("2001:db8:0:1::1"))[0]
                 for method in ("GET", "HEAD") for path in ("/healthz", "/readyz") for _ in range(30)]
        tap.ok(set(asked) == {200}, "what asks whether the server lives is never limited", asked)
        for path in ("/none", "/v1/openapi.json", "/"):
            tap.ok(server.request("GET", path, None, None, from_address("2001:db8:0:1::1"))[0] == 429, f"{path} is")
        tap.ok(server.request(**tasks, headers=from_address("2001:db8:0:2::1"))[0] == 200, "but nobody else behind the proxy")
        tap.ok(server.request(**tasks, headers=from_address("2001:db8:0:1::1, 192.0.2.9"))[0] == 200, "what a client forwards means nothing")
        tap.ok(refused_at_last(server, 100, **tasks) is None, "who comes without an address is not taken for the proxy")
        tap.ok(refused_at_last(server, 200, method="GET", path="/v1/tokens/1", token=admin, headers=None), "a token has its own bucket")
        wrong = {"method": "GET", "path": "/v1/tokens/1", "token": "dbk_operator_999_" + "A" * 43}
        here, there = from_address("198.51.100.1"), from_address("198.51.100.2")
        statuses = [server.request(**wrong, headers=here)[0] for _ in range(7)]
        tap.ok(statuses[:5] == [401] * 5 and statuses[-1] == 429, "failed attempts slow an address down", statuses)
        tap.ok(server.request("GET", "/v1/tokens/1", token=server.token("operator"), headers=here)[0] == 429, "a good token waits, too")
        page = Browser(server, here)
        tap.ok(page.sign_in(admin) == 429 and "try again in" in page.page, "and so does who signs in")
        tap.ok(server.request("GET", "/v1/tokens/1", token=server.token("operator"), headers=there)[0] == 200, "another address does not")
        gone = server.token("operator", "gone")
        server.command("token", "revoke", gone.split("_")[2])
        statuses = [server.request("GET", "/v1/tokens/1", token=gone, headers=there)[0] for _ in range(9)]
        tap.ok(statuses == [401] * 9, "a token that was revoked is no guess", statuses)
        page = Browser(server, from_address("198.51.100.3"))
        statuses = [page.sign_in("nonsense") for _ in range(7)]
        tap.ok(statuses[:5] == [401] * 5 and statuses[-1] == 429, "signing in is slowed down alike", statuses)
    with Server() as server:
        server.start(extra=("--rate-address", "1"))
        tap.ok(refused_at_last(server, 100, method="GET", path="/v1/tasks", headers=from_address("192.0.2.1")) is None,
               "this machine is not limited, whatever it forwards")
        server.stop()
        server.start(extra=("--rate-address", "1", "--rate-loopback"))
        tap.ok(refused_at_last(server, 200, method="GET", path="/v1/tasks"), "unless that is asked for")


def main():
    tap = Tap()
    with Server() as server:
        admin = server.token("admin", "Ada & co")
        server.start()
        page = check_sign_in(tap, server, admin)
        check_forms(tap, server, page, admin)
        check_scopes(tap, server)
        check_ends(tap, server, page, admin)
        tap.ok(server.stop() == 0, "the server ends cleanly")
    check_tls(tap)
    check_limits(tap)
    tap.done()


main()
