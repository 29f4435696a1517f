#!/usr/bin/env python3
"""A hub with one made-up model, on loopback. Usage: server.py PORT_FILE [--no-files]

It answers what clients of a model hub ask for: the revision, the tree, the paths, and the files with their ETags. With
--no-files it has no files: a client that still gets the model has found all of it in its cache.
"""
import hashlib
import http.server
import json
import os
import re
import sys
import urllib.parse

MODEL = "org/tiny"
COMMIT = "89abcdef" * 5
# Beyond one chunk of sparkplan-copy.
LARGE = hashlib.sha256(b"weights").digest() * 300_000
FILES = {
    "config.json": b'{"model_type": "tiny"}\n',
    "README.md": b"# Made up\n",
    "sub/tokenizer.json": b"{}\n",
    "model.safetensors": LARGE,
}


def git_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_large(content):
    return len(content) > 1_000_000


def entry(path):
    content = FILES[path]
    one = {"type": "file", "path": path, "size": len(content), "oid": git_id(content)}
    if is_large(content):
        one["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
    return one


def tree():
    return [{"type": "directory", "path": "sub", "size": 0, "oid": "0" * 40}] + [entry(path) for path in FILES]


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    has_files = True

    def log_message(self, *_):
        pass

    def answer(self, body, status=200, headers=None):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def missing(self):
        self.answer(b'{"error": "not found"}', 404, {"X-Error-Code": "EntryNotFound"})

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if path == f"/api/models/{MODEL}/revision/main" or path == f"/api/models/{MODEL}/revision/{COMMIT}":
            info = {"_id": "1", "id": MODEL, "sha": COMMIT, "private": False, "gated": False, "downloads": 0,
                    "likes": 0, "lastModified": "2024-01-01T00:00:00.000Z",
                    "siblings": [{"rfilename": name} for name in FILES]}
            self.answer(json.dumps(info).encode())
        elif path == f"/api/models/{MODEL}/tree/{COMMIT}":
            self.answer(json.dumps(tree()).encode())
        else:
            self.file(path)

    do_HEAD = do_GET

    def file(self, path):
        match = re.fullmatch(rf"/{MODEL}/resolve/(?:main|{COMMIT})/(.+)", path)
        content = FILES.get(match.group(1)) if match and self.has_files else None
        if content is None:
            return self.missing()
        headers = {"Content-Type": "application/octet-stream", "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes",
                   "ETag": f'"{git_id(content)}"'}
        if is_large(content):
            headers["X-Linked-Etag"] = f'"{hashlib.sha256(content).hexdigest()}"'
            headers["X-Linked-Size"] = str(len(content))
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return self.answer(content, 200, headers)
        begin = int(asked.group(1))
        end = min(int(asked.group(2) or len(content) - 1), len(content) - 1)
        headers["Content-Range"] = f"bytes {begin}-{end}/{len(content)}"
        return self.answer(content[begin:end + 1], 206, headers)

    def do_POST(self):
        length = int(self.headers.get("Content-Length", "0"))
        if length > 1_000_000:
            return self.missing()
        body = self.rfile.read(length)
        if urllib.parse.urlsplit(self.path).path != f"/api/models/{MODEL}/paths-info/{COMMIT}":
            return self.missing()
        paths = json.loads(body)["paths"]
        commit = {"id": COMMIT, "title": "first", "date": "2024-01-01T00:00:00.000Z"}
        return self.answer(json.dumps([{**entry(path), "lastCommit": commit} for path in paths]).encode())


def main():
    Hub.has_files = "--no-files" not in sys.argv
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    unfinished = sys.argv[1] + ".part"
    with open(unfinished, "w", encoding="ascii") as file:
        file.write(str(server.server_port))
    os.rename(unfinished, sys.argv[1])
    server.serve_forever()


main()
