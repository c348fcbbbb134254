"""Prints changes of a table as they happen, and goes on after breaks. Needs Python 3.8 and nothing else.

    FIELDGATE_KEY=... FIELDGATE_SECRET=... python3 changes.py TABLE [AFTER]
"""

import http.client
import json
import os
import sys
import time
from urllib.parse import quote, urlsplit

gateway = urlsplit(os.environ.get("FIELDGATE_URL", "http://127.0.0.1:8080"))
headers = {"APIKey": os.environ["FIELDGATE_KEY"], "Secret": os.environ["FIELDGATE_SECRET"]}


def events(table, after):
    """Yields (id, name, data) of one stream until it ends."""
    secure = gateway.scheme == "https"
    connection = (http.client.HTTPSConnection if secure else http.client.HTTPConnection)(gateway.netloc, timeout=45)
    resume = {} if after is None else {"Last-Event-ID": str(after)}
    connection.request("GET", f"/api/v1/dataloaderapi/changes/{quote(table)}", headers={**headers, **resume})
    response = connection.getresponse()
    if response.status in (429, 503):
        raise ConnectionError(f"HTTP {response.status}")
    if response.status != 200:
        sys.exit(response.read().decode())
    event = {}
    for line in response:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field in ("id", "event", "data"):
            event[field] = value
        elif line == b"\n" and "event" in event:
            yield event.get("id"), event["event"], json.loads(event["data"])
            event = {}


def main(table, after=None):
    while True:
        try:
            for number, name, data in events(table, after):
                if name == "end":
                    after = data["after"]
                else:
                    after = int(number)
                    print(number, json.dumps(data), flush=True)
        except (OSError, http.client.HTTPException) as fault:
            print(f"{fault}; trying again", file=sys.stderr)
        time.sleep(1)


main(*sys.argv[1:3])
