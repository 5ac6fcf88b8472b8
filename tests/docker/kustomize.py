"""What `kubectl kustomize` makes of a folder, for the features that docker/kubernetes uses; all others are errors.
Debian's kubectl is too old to know components."""
import re

import yaml

from fields import slips

KUSTOMIZATION = {"apiVersion!": ("kustomize.config.k8s.io/v1beta1",), "kind!": ("Kustomization",),
                 "resources!": [str], "components": [str]}
COMPONENT = {"apiVersion!": ("kustomize.config.k8s.io/v1alpha1",), "kind!": ("Component",), "resources": [str],
             "generatorOptions": {"disableNameSuffixHash!": (True,)},
             "configMapGenerator": [{"name!": str, "files!": [re.compile(r"[\w.-]+")]}],
             "patches!": [{"target!": {"kind!": str, "name!": str}, "patch!": str}]}
OPERATIONS = [{"op!": ("add", "replace"), "path!": re.compile("(/[^/]+)+"), "value!": object}]


class Refused(Exception):
    """What kustomize would not take."""


def checked(value, allowed, where):
    if found := slips(value, allowed, str(where)):
        raise Refused("\n".join(found))
    return value


def place(container, part):
    return int(part) if isinstance(container, list) else part


def apply(operation, document):
    """One operation of a JSON patch (RFC 6902), in place; into a list, at its end only."""
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:])
    try:
        for part in parents:
            document = document[place(document, part)]
        if operation["op"] == "add" and isinstance(document, list):
            if last != "-":
                raise ValueError(last)
            document.append(operation["value"])
            return
        last = place(document, last)
        if operation["op"] == "replace":
            document[last]  # has to be there
        document[last] = operation["value"]
    except (LookupError, TypeError, ValueError) as error:
        raise Refused(f"{operation['op']} {operation['path']}: there is no such place") from error


def build(folder, *components):
    """The resources, by their kind, with these components besides those of the file."""
    path = folder / "kustomization.yaml"
    top = checked(yaml.safe_load(path.read_text()), KUSTOMIZATION, path)
    documents = [yaml.safe_load((folder / name).read_text()) for name in top["resources"]]
    for component in [*top.get("components", []), *components]:
        path = folder / component / "kustomization.yaml"
        content = checked(yaml.safe_load(path.read_text()), COMPONENT, path)
        documents += [yaml.safe_load((path.parent / name).read_text()) for name in content.get("resources", [])]
        if "configMapGenerator" in content and "generatorOptions" not in content:
            raise Refused(f"{path}: the names of config maps would end in a hash")
        documents += [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": made["name"]},
                       "data": {name: (path.parent / name).read_text() for name in made["files"]}}
                      for made in content.get("configMapGenerator", [])]
        for patch in content["patches"]:
            target = patch["target"]
            chosen = [document for document in documents
                      if (document["kind"], document["metadata"]["name"]) == (target["kind"], target["name"])]
            if len(chosen) != 1:
                raise Refused(f"{path}: {len(chosen)} resources are {target}")
            for operation in checked(yaml.safe_load(patch["patch"]), OPERATIONS, path):
                apply(operation, chosen[0])
    kinds = {document["kind"]: document for document in documents}
    if len(kinds) != len(documents):
        raise Refused(f"{path}: two resources of one kind")
    return kinds
