"""tests/support/openapi.py: schema/openapi.yaml for tests: which answers a call may have, and values that fit a schema.

    Spec.check(method, target, answer)   raises Wrong when the answer is not one that openapi.yaml describes
    Maker(spec, random, pools)           makes values of a schema, and values that break it
"""
import json
import os
import re

import jsonschema
import yaml

try:
    from re import _parser as sre_parse
except ImportError:  # before Python 3.11
    import sre_parse

from daybreak import ROOT


class Wrong(Exception):
    """An expectation that does not hold."""


class Spec:
    """From a call to the schema of its answers."""

    def __init__(self):
        with open(os.path.join(ROOT, "schema/openapi.yaml"), encoding="utf-8") as file:
            self.document = yaml.safe_load(file)
        self.paths = [(re.compile("^" + re.sub(r"\{[^}]*\}", "[^/]+", path) + "$"), "{" in path, item)
                      for path, item in self.document["paths"].items()]
        self.paths.sort(key=lambda row: row[1])
        self.validators = {}

    def resolve(self, node):
        while "$ref" in node:
            found = self.document
            for part in node["$ref"][2:].split("/"):
                found = found[part]
            node = found
        return node

    def operations(self):
        """(method, path, parameters, operation) of every call, parameters of the path among its own."""
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                if method in ("get", "post", "put", "patch", "delete"):
                    parameters = [self.resolve(p) for p in item.get("parameters", []) + operation.get("parameters", [])]
                    yield method.upper(), path, parameters, operation

    def check(self, method, target, answer):
        media = answer.headers.get("content-type", "").split(";")[0]
        if media == "application/problem+json":
            schema = {"$ref": "#/components/schemas/Problem"}
        else:
            path = target.split("?")[0]
            item = next((row[2] for row in self.paths if row[0].match(path)), None)
            if item is None or method.lower() not in item:
                return
            responses = item[method.lower()]["responses"]
            if str(answer.status) not in responses:
                raise Wrong(f"openapi.yaml knows no {answer.status} of {method} {path}")
            content = self.resolve(responses[str(answer.status)]).get("content", {})
            if media not in content:
                if answer.body:
                    raise Wrong(f"openapi.yaml knows no {media} of {method} {path}")
                return
            schema = content[media]["schema"]
        if media in ("application/json", "application/problem+json"):
            fault = jsonschema.exceptions.best_match(self.validator(schema).iter_errors(answer.json))
            if fault is not None:
                raise Wrong(f"openapi.yaml: {'/'.join(map(str, fault.path))}: {fault.message[:300]}")

    def validator(self, schema):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            whole = {**schema, "components": self.document["components"]}
            self.validators[key] = jsonschema.Draft202012Validator(whole)
        return self.validators[key]


RUBBISH = ("", " ", "\0", "-1", "0", "1e999", "NaN", "null", "true", "[]", "{}", "99999999999999999999", "-9223372036854775809", "1.5",
           "../../etc/passwd", "%", "%zz", "\ud7ff\ufffd", "\u202e", "' OR 1=1 --", "<script>alert(1)</script>", "=cmd()", "2019-02-30",
           "0000-00-00", "9999-12-31", "a" * 300, "\r\nX: y", "\u00e9" * 100, "1,2", "cifar10-train ", "CIFAR10-TRAIN")


class Maker:
    """Values by schema. `pools` maps a parameter's or member's name to values that are there; those of `only` have no
    others."""

    def __init__(self, spec, random, pools, only=()):
        self.spec, self.random, self.pools, self.only = spec, random, pools, only

    def valid(self, schema, name=None):
        schema = self.spec.resolve(schema)
        random = self.random
        if name in self.pools and self.pools[name] and (name in self.only or random.random() < 0.9):
            return random.choice(self.pools[name])
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self.valid(random.choice(schema[key]), name)
        if "allOf" in schema:
            merged = {}
            for part in schema["allOf"]:
                merged.update(self.spec.resolve(part))
            return self.valid(merged, name)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return random.choice(schema["enum"])
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = random.choice(kind)
        return getattr(self, "valid_" + kind)(schema)

    def valid_object(self, schema):
        required = schema.get("required", [])
        made = {key: self.valid(part, key) for key, part in schema.get("properties", {}).items()
                if key in required or self.random.random() < 0.4}
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict) and self.random.random() < 0.5:
            made["more"] = self.valid(extra)
        return made

    def valid_array(self, schema):
        low, high = schema.get("minItems", 0), schema.get("maxItems", 3)
        return [self.valid(schema.get("items", {})) for _ in range(self.random.randint(low, min(high, low + 3)))]

    def valid_integer(self, schema):
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1 if "exclusiveMinimum" in schema else 0)
        high = schema.get("maximum", max(low, 1000))
        return self.random.choice((low, high, self.random.randint(low, min(high, low + 50))))

    def valid_number(self, schema):
        low, high = schema.get("minimum", 0), schema.get("maximum", 1000)
        return self.random.choice((low, round(self.random.uniform(low, high), 6)))

    def valid_boolean(self, schema):
        return self.random.random() < 0.5

    def valid_null(self, schema):
        return None

    def valid_string(self, schema):
        random = self.random
        if schema.get("format") == "date":
            return f"{random.randint(2015, 2027)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
        if schema.get("format") == "date-time":
            return f"{random.randint(2015, 2027)}-01-02T03:04:05Z"
        if schema.get("format") in ("uri", "url"):
            return f"https://example.org/{random.randint(0, 9)}"
        if "pattern" in schema:
            return self.of_pattern(sre_parse.parse(schema["pattern"]))[:schema.get("maxLength", 200)]
        low = schema.get("minLength", 0)
        high = min(schema.get("maxLength", 20), low + 20)
        return "".join(random.choice("abc XYZ-_09.\u00e9") for _ in range(random.randint(low, high)))

    def of_pattern(self, parsed):
        out, random = "", self.random
        for op, value in parsed:
            op = str(op)
            if op == "LITERAL":
                out += chr(value)
            elif op == "ANY":
                out += random.choice("ab1")
            elif op == "IN":
                out += self.of_set(value)
            elif op in ("MAX_REPEAT", "MIN_REPEAT"):
                low, high, part = value
                for _ in range(random.randint(low, min(int(high), low + 6))):
                    out += self.of_pattern(part)
            elif op == "SUBPATTERN":
                out += self.of_pattern(value[-1])
            elif op == "BRANCH":
                out += self.of_pattern(random.choice(value[1]))
            elif op not in ("AT", "ASSERT", "ASSERT_NOT"):
                raise ValueError(f"pattern part {op} is not known here")
        return out

    def of_set(self, parts):
        named = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_WORD": "abc_09", "CATEGORY_SPACE": " ", "CATEGORY_NOT_SPACE": "abc_09"}
        if str(parts[0][0]) == "NEGATE":
            refused = re.compile("".join(self.set_text(parts)))
            return self.random.choice([c for c in "abcXYZ019-_.~" if not refused.match(c)] or ["a"])
        op, value = self.random.choice(parts)
        op = str(op)
        if op == "LITERAL":
            return chr(value)
        if op == "RANGE":
            return chr(self.random.randint(*value))
        return self.random.choice(named[str(value)])

    @staticmethod
    def set_text(parts):
        inner = "".join(re.escape(chr(v)) if str(op) == "LITERAL" else f"{re.escape(chr(v[0]))}-{re.escape(chr(v[1]))}"
                        for op, v in parts[1:] if str(op) in ("LITERAL", "RANGE"))
        return f"[{inner}]"

    def broken(self, value):
        """`value`, wrong somewhere: a member left out, of another type, unknown, or far too long."""
        random = self.random
        if isinstance(value, dict) and value and random.random() < 0.8:
            made, key = dict(value), random.choice(list(value))
            how = random.randrange(4)
            if how == 0:
                del made[key]
            elif how == 1:
                made["unknown" + str(random.randrange(3))] = random.choice(RUBBISH)
            else:
                made[key] = self.broken(value[key])
            return made
        if isinstance(value, list) and value and random.random() < 0.6:
            made = list(value)
            made[random.randrange(len(made))] = self.broken(random.choice(value))
            return made
        return random.choice((None, True, -1, 1 << 70, 0.5, -0.0, [], {}, [[[[]]]], {"a": {"b": 1}}, "x" * 20000, *RUBBISH))
