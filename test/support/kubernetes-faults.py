"""Holds documents of YAML against the types of Kubernetes' own Python client, and prints what differs.

Fields that a type does not have, values of another type, and missing values are faults. The client is generated from
the OpenAPI document of Kubernetes. Quantities are texts to it. Which words a field allows, and references between
documents, are not checked.

    python3 kubernetes-faults.py FILE
"""

import re
import sys

import yaml
from kubernetes import client

SCALARS = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": (str, int)}


def faults_of(value, kind, at):
    """Yields what differs between a value and a type as the client names it: V1Pod, list[str], dict(str, V1Pod)."""
    items = re.fullmatch(r"list\[(.*)\]", kind)
    entries = re.fullmatch(r"dict\(str, (.*)\)", kind)
    scalar = SCALARS.get(kind)
    expected = list if items else scalar or dict
    if not isinstance(value, expected) or isinstance(value, bool) and kind != "bool":
        yield f"{at}: found {value!r}, expected {kind}"
    elif items:
        for index, item in enumerate(value):
            yield from faults_of(item, items[1], f"{at}[{index}]")
    elif entries:
        for key, entry in value.items():
            yield from faults_of(entry, entries[1], f"{at}.{key}")
    elif not scalar:
        yield from faults_of_model(value, getattr(client, kind), at)


def faults_of_model(value, model, at):
    names = {name: attribute for attribute, name in model.attribute_map.items()}
    for name, field in value.items():
        if name in names:
            yield from faults_of(field, model.openapi_types[names[name]], f"{at}.{name}")
        else:
            yield f"{at}.{name}: unknown to {model.__name__}"
    try:
        model(**{names[name]: field for name, field in value.items() if name in names})
    except ValueError as refusal:
        yield f"{at}: {refusal}"


def model_of(document):
    """Returns the name of the type of a document: V1Service for v1, V1Deployment for apps/v1."""
    version = document["apiVersion"].split("/")[-1]
    return version[0].upper() + version[1:] + document["kind"]


with open(sys.argv[1], encoding="utf-8") as file:
    for each in yaml.safe_load_all(file):
        for fault in faults_of(each, model_of(each), each["kind"]):
            print(fault)
