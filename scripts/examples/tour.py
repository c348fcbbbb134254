#!/usr/bin/env python3
"""A tour of a Fieldgate gateway with requests.

    fieldgate key create --name tour --scope admin --json
    FIELDGATE_URL=http://127.0.0.1:8080 FIELDGATE_KEY=... FIELDGATE_SECRET=... python3 scripts/examples/tour.py

It makes the table "tour_rain" and the dataset "tour_gauges", and removes them at its end.
"""

import json
import os
import sys

import requests

URL = os.environ.get("FIELDGATE_URL", "http://127.0.0.1:8080").rstrip("/")

gateway = requests.Session()
gateway.headers.update({"APIKey": os.environ["FIELDGATE_KEY"], "Secret": os.environ["FIELDGATE_SECRET"]})


def call(path, method, params):
    """Params in, result out; a refusal is raised with its name and what was expected."""
    response = gateway.post(f"{URL}{path}/call/{method}", json=params, timeout=60)
    if not response.ok:
        problem = response.json()
        raise SystemExit(f"{method}: {problem['name']}: {problem['detail']}")
    return response.json()


def loader(method, params):
    return call("/api/v1/dataloaderapi/jsonrpc", f"loaderwebapi.{method}", params)


def dataset(method, params):
    return call("/api/v2/dataset/jsonrpc", f"dataset.{method}", params)


def lines(count):
    """Newline-delimited features, made while they are sent: any number needs no memory."""
    for n in range(count):
        feature = {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [139 + n / count, 35.5]},
            "properties": {
                "start_datetime": "2026-01-01 00:00:00+09",
                "end_datetime": "2026-01-01 01:00:00+09",
                "gauge": f"g{n}",
                "mm": n / 2,
            },
        }
        yield (json.dumps(feature) + "\n").encode()


def tables():
    names = [entry["data_name"] for entry in loader("get_loader_list", {})["data"]]
    if "tour_rain" in names:
        loader("drop_loader", {"data_name": "tour_rain"})
    columns = {"gauge": {"udt_name": "varchar", "length": 20}, "mm": {"udt_name": "float8"}}
    loader("register_loader", {"data_name": "tour_rain", "record_def": columns, "unique_columns": ["gauge"]})
    counters = gateway.post(
        f"{URL}/api/v1/dataloaderapi/stream/tour_rain",
        data=lines(5000),
        headers={"Content-Type": "application/x-ndjson"},
        timeout=60,
    ).json()
    print(f"table: {counters['message']}")


def features():
    """OGC API - Features: what QGIS and GDAL read, page after page."""
    url = f"{URL}/ogc/collections/table.tour_rain/items"
    params = {"bbox": "139,35,139.5,36", "limit": 1000}
    count = 0
    while url:
        page = gateway.get(url, params=params, timeout=60).json()
        count += len(page["features"])
        url = next((link["href"] for link in page["links"] if link["rel"] == "next"), None)
        params = None  # a link carries them
    print(f"features: {count} in the western half")
    loader("drop_loader", {"data_name": "tour_rain"})


def citations():
    if any(one["short_form"] == "tour_gauges" for one in dataset("list", {})):
        dataset("delete", {"dataset_name": "tour_gauges"})
    columns = [
        {"column_name": "id", "data_type": "int"},
        {"column_name": "level_m", "data_type": "numeric(6,2)"},
    ]
    dataset("create", {"dataset_name": "tour_gauges", "columns": columns, "key_columns": ["id"]})
    dataset("record.put", {"dataset_name": "tour_gauges", "records": [[1, "2.40"]]})
    cited = dataset("citation.create", {"citation_label": "tour", "source": "tour_gauges"})
    changed = {"dataset_name": "tour_gauges", "records": [[1, "3.10"]], "on_conflict": "update"}
    dataset("record.put", changed)
    records = dataset("record.get", {"citation_label": cited["long_form"]})
    print(f"citation: {cited['long_form']} still says {records[0]['level_m']} m")
    dataset("delete", {"dataset_name": "tour_gauges"})


def model():
    about = {"model_store_ddc": "tour", "model_kind": "demo", "model_description": "", "model_meta": {}}
    info = gateway.post(
        f"{URL}/api/v2/model_store/jsonrpc/upload/model_store.model.put",
        data={"data": json.dumps(about)},
        files={"file": ("model.dat", b"weights " * 1000)},
        timeout=60,
    ).json()
    first = gateway.get(
        f"{URL}/api/v2/model_store/models/{info['model_id']}/file",
        headers={"Range": "bytes=0-6"},
        timeout=60,
    )
    print(f"model: {info['model_size']} bytes that begin with {first.text}")
    call("/api/v2/model_store/jsonrpc", "model_store.model.delete", {"model_id": info["model_id"]})


if __name__ == "__main__":
    ready = requests.get(f"{URL}/readyz", timeout=60)
    if not ready.ok:
        sys.exit(f"the gateway is not ready: {ready.text}")
    tables()
    features()
    citations()
    model()
