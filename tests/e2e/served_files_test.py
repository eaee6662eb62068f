# SPDX-License-Identifier: Apache-2.0
"""Files that a running server reads, and that somebody has broken."""

import http.client
import json
import os
import signal
import sqlite3
import unittest

import plumb_e2e as e2e

OLD = "sk-old-0123456789abcdef"
NEW = "sk-new-0123456789abcdef"
ADMIN = "sk-admin-0123456789abcdef"


class Keys(unittest.TestCase):
    """Keys that are read again after SIGHUP."""

    def setUp(self):
        held = e2e.folder()
        self.folder = held.__enter__()
        self.addCleanup(held.__exit__, None, None, None)
        self.keys = self.write("keys", f"alice:normal:{OLD}\n")
        self.admin = self.write("admin", f"{ADMIN}\n")
        self.server = e2e.Server(e2e.dummy(self.folder), "--api-key-file", self.keys, "--admin-key-file", self.admin)
        self.addCleanup(self.server.stop)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        os.chmod(path, 0o600)
        return path

    def reload(self):
        """The line that the server says."""
        num_before = len(self.server.lines)
        self.server.process.send_signal(signal.SIGHUP)
        e2e.wait_until(lambda: len(self.server.lines) > num_before, 20, "the server says what came of it")
        self.assertEqual(len(self.server.lines), num_before + 1, self.server.log())
        return self.server.lines[-1]

    def status_of(self, key):
        return self.server.request("GET", "/v1/models", headers={"x-api-key": key})[0]

    def test_a_bad_line_is_named_by_its_number_and_the_old_keys_stay(self):
        for line, why in ((f"bob:owner:{NEW}", "expected KEY or NAME:ROLE:KEY"), ("sk-short", "a key has 8 characters"),
                          (f"bob:normal:{NEW}\x01", "holds a character that no client can send"),
                          (f"{NEW}:x", "expected KEY or NAME:ROLE:KEY"), (OLD, "has the key of")):
            self.write("keys", f"# changed\nalice:normal:{OLD}\n\n{line}\n")
            said = self.reload()
            self.assertIn(f"the keys are unchanged: --api-key-file: {self.keys} line 4: ", said)
            self.assertIn(why, said)
            self.assertNotIn("sk-", said)
            self.assertEqual((self.status_of(OLD), self.status_of(NEW)), (200, 401), line)

    def test_either_file_keeps_both_as_they_were(self):
        self.write("keys", f"alice:normal:{NEW}\n")
        self.write("admin", "no\n")
        self.assertIn(f"the keys are unchanged: --admin-key-file: {self.admin} line 1: a key has 2 characters", self.reload())
        self.assertEqual((self.status_of(OLD), self.status_of(NEW), self.status_of(ADMIN)), (200, 401, 200))
        os.chmod(self.keys, 0o644)
        self.assertIn("the keys are unchanged: --api-key-file: ", self.reload())
        self.keys.unlink()
        self.assertIn("the keys are unchanged: --api-key-file: ", self.reload())
        self.assertEqual((self.status_of(OLD), self.status_of(NEW)), (200, 401))
        self.write("keys", f"alice:normal:{NEW}\n")
        self.write("admin", f"{ADMIN}\n")
        self.assertIn("keys read again", self.reload())
        self.assertEqual((self.status_of(OLD), self.status_of(NEW), self.status_of(ADMIN)), (401, 200, 200))


class Responses(unittest.TestCase):
    """Rows of the response store that hold something else than was kept."""

    @classmethod
    def setUpClass(cls):
        held = e2e.folder()
        cls.folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        cls.store = cls.folder / "responses.db"
        model = e2e.dummy(cls.folder)
        ids = []
        with e2e.Server(model, "--response-store", cls.store) as server:
            for _ in range(7):
                status, queued = server.post("/v1/responses", {"input": "Hello", "background": True, "max_output_tokens": 300,
                                                               "ignore_eos": True})
                assert status == 200, queued
                ids.append(queued["id"])
            server.wait_until_idle()
        cls.sound, cls.pages = ids[0], ids[1]
        cls.broken = ids[2:]
        with sqlite3.connect(cls.store) as database:
            for id, column, value in zip(cls.broken, ("response", "response", "response", "inputs", "inputs"),
                                         ("{", b"\xff\x00\xfe", "[1]", "no JSON", '{"a":1}')):
                done = database.execute(f"UPDATE responses SET {column} = ? WHERE id = ?", (value, id))
                assert done.rowcount == 1, id
            num_pages = database.execute("SELECT count(*) FROM event_pages WHERE response_id = ?", (cls.pages,)).fetchone()[0]
            assert num_pages >= 1, num_pages
            database.execute("UPDATE event_pages SET events = 'no event' WHERE response_id = ?", (cls.pages,))
            database.execute("INSERT INTO event_pages VALUES (?, 1000000, 'nor this')", (cls.pages,))
        database.close()
        cls.server = e2e.Server(model, "--response-store", cls.store)
        cls.addClassCleanup(cls.server.stop)

    def check_said(self, text):
        e2e.wait_until(lambda: text in self.server.log(), 20, f"the log says: {text}")

    def check_lives(self):
        status, _, body = self.server.request("GET", f"/v1/responses/{self.sound}")
        self.assertEqual(status, 200, body)
        self.assertEqual(json.loads(body)["status"], "incomplete")
        status, answer = self.server.post("/v1/responses", {"input": "a", "max_output_tokens": 2, "previous_response_id": self.sound})
        self.assertEqual(status, 200, answer)

    def test_a_broken_row_is_an_error_of_the_server_and_it_goes_on(self):
        for id in self.broken:
            path = f"/v1/responses/{id}"
            for method, route, body in (("GET", path, None), ("GET", path + "?stream=true", None), ("GET", path + "/input_items", None),
                                        ("POST", path + "/cancel", None),
                                        ("POST", "/v1/responses", {"input": "a", "max_output_tokens": 2, "previous_response_id": id})):
                status, headers, data = self.server.request(method, route, body)
                self.assertEqual(status, 500, (method, route, data))
                error = json.loads(data)["error"]
                self.assertEqual((error["type"], error["code"], error["param"]), ("server_error", "internal_error", None))
                self.assertTrue(headers["x-request-id"])
                self.assertNotIn("no JSON", error["message"])
            self.check_said(f"what is kept as {id} is no JSON")
            self.check_lives()

    def test_one_can_be_deleted(self):
        status, _, data = self.server.request("DELETE", f"/v1/responses/{self.broken.pop()}")
        self.assertEqual((status, json.loads(data)["deleted"]), (200, True))
        self.check_lives()

    def test_a_stream_of_broken_events_is_cut(self):
        with self.assertRaises((http.client.HTTPException, ConnectionError)):
            self.server.request("GET", f"/v1/responses/{self.pages}?stream=true")
        self.check_said(f"what is kept as events of {self.pages} is none")
        self.check_lives()


if __name__ == "__main__":
    unittest.main()
