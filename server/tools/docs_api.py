"""server/tools/docs_api.py: the pages of the API, made of schema/openapi.yaml: /docs/api with every call and the anchor of
every code (the `type` of a problem is /docs/api#CODE), /docs/api/TAG with the calls of a tag in full, and
/docs/api/schemas with what several tags share. The codes are those of docs/codes.md.
"""
import html
import json

from docs_text import Fault, link_names, plain_of, slug_of, table_open

from markdown_it import MarkdownIt

TITLE = "The API"
DESCRIPTION = "Every call with its parameters, bodies, answers and examples, and what each code of an error means."
SHARED = "schemas"  # the page of what belongs to no single tag
METHODS = ("get", "post", "put", "patch", "delete")
PREFIX = "#/components/"


def escape(text):
    return html.escape(str(text), quote=False)


def table(label, heads, rows):
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join("<tr>" + "".join(f'<td data-h="{name}">{cell}</td>' for name, cell in zip(heads, row)) + "</tr>\n"
                   for row in rows)
    return (f'{table_open(label)}<table class="plain">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}'
            "</tbody>\n</table>\n</div>\n")


class Api:
    def __init__(self, document, names):
        self.document, self.names = document, names
        self.tags = [tag["name"] for tag in document["tags"]]
        self.words = {tag["name"]: tag["description"] for tag in document["tags"]}
        self.calls = [(method, path, call, shared.get("parameters", []))
                      for path, shared in document["paths"].items()
                      for method, call in shared.items() if method in METHODS]
        if SHARED in self.tags:
            raise Fault(f"schema/openapi.yaml: a tag may not be called {SHARED}")
        self.homes = self.find_homes()

    # ---- where things are ----

    def resolve(self, thing):
        while isinstance(thing, dict) and "$ref" in thing:
            kind, name = thing["$ref"].removeprefix(PREFIX).split("/")
            thing = self.document["components"][kind][name]
        return thing

    def schemas_of(self, thing, found):
        """Adds the names of all schemas that something mentions, and of those that these mention."""
        if isinstance(thing, list):
            for one in thing:
                self.schemas_of(one, found)
        elif isinstance(thing, dict):
            ref = thing.get("$ref", "")
            name = ref.removeprefix(PREFIX + "schemas/")
            if ref.startswith(PREFIX + "schemas/"):
                if name in found:
                    return
                found.add(name)
            if ref:
                self.schemas_of(self.resolve(thing), found)
            for key, value in thing.items():
                if key not in ("example", "examples"):
                    self.schemas_of(value, found)

    def find_homes(self):
        """{schema: tag}: that of the calls that use it, if it is one."""
        users = {}
        for _, _, call, shared in self.calls:
            found = set()
            self.schemas_of([call, shared], found)
            for name in found:
                users.setdefault(name, set()).add(call["tags"][0])
        lost = set(self.document["components"]["schemas"]) - set(users)
        return {**{name: tags.pop() if len(tags) == 1 else SHARED for name, tags in users.items()},
                **{name: SHARED for name in lost}}

    def link_schema(self, name):
        return f'<a href="/docs/api/{self.homes[name]}#{name}">{name}</a>'

    # ---- words ----

    def markdown(self, text):
        return MarkdownIt("commonmark", {"html": False}).render(text)

    def inline(self, text):
        """One line of prose: code between backticks, names of pages as links."""
        parts = text.split("`")
        return "".join(f"<code>{link_names(self.names, part)}</code>" if i % 2 else link_names(self.names, part)
                       for i, part in enumerate(parts))

    def type_of(self, schema):
        if "$ref" in schema:
            return self.link_schema(schema["$ref"].rsplit("/", 1)[1])
        if "oneOf" in schema:
            return " or ".join(self.type_of(one) for one in schema["oneOf"])
        if "const" in schema:
            return f"<code>{escape(json.dumps(schema['const']))}</code>"
        if "enum" in schema:
            return " or ".join(f"<code>{escape(one)}</code>" for one in schema["enum"])
        if schema.get("type") == "array":
            most = f", {schema['maxItems']} at most" if "maxItems" in schema else ""
            return f"list of {self.type_of(schema.get('items', {}))}{most}"
        words = schema.get("format") or schema.get("type") or "any value"
        words = " or ".join(words) if isinstance(words, list) else words
        return escape(words) + escape(self.limits_of(schema))

    @staticmethod
    def limits_of(schema):
        least, most = schema.get("minimum"), schema.get("maximum")
        above = schema.get("exclusiveMinimum")
        words = []
        if least is not None and most is not None:
            words.append(f"{least} to {most:,}")
        elif least is not None:
            words.append(f"at least {least}")
        elif above is not None:
            words.append(f"above {above}" + (f", at most {most:,}" if most is not None else ""))
        if "maxLength" in schema:
            words.append(f"{schema['maxLength']:,} characters at most")
        if "pattern" in schema:
            words.append(f"matches {schema['pattern']}")
        if "default" in schema:
            words.append(f"default {schema['default']}")
        return "".join(f", {one}" for one in words)

    def members(self, schema, prefix=""):
        """Rows of a schema's members; those of objects inside follow with their path."""
        rows = []
        for name, member in schema.get("properties", {}).items():
            optional = "" if name in schema.get("required", []) else '<span class="sub">optional</span>'
            inner, mark = member, "."
            while inner.get("type") == "array" and "items" in inner:
                inner, mark = inner["items"], mark.replace(".", "[].", 1)
            is_open = "properties" in inner
            kind = "object" if is_open and mark == "." else "list of objects" if is_open else self.type_of(member)
            rows.append([f"<code>{escape(prefix + name)}</code>{optional}", kind, self.inline(member.get("description", ""))])
            if is_open:
                rows += self.members(inner, prefix + name + mark)
        return rows

    # ---- one call ----

    def who_may(self, call):
        wants = call.get("security", self.document["security"])
        if {} in wants:
            return "Anybody may call it; no token is needed."
        return 'Takes a <a href="/docs/access">token</a>.'

    def parameters(self, call, shared):
        rows = []
        for one in map(self.resolve, shared + call.get("parameters", [])):
            optional = "" if one.get("required") else '<span class="sub">optional</span>'
            rows.append([f"<code>{escape(one['name'])}</code>{optional}", escape(one["in"]), self.type_of(one["schema"]),
                         self.inline(one.get("description", one["schema"].get("description", "")))])
        return rows

    def example(self, label, media):
        given = media.get("example")
        if given is None and "examples" in media:
            given = next(iter(media["examples"].values()))["value"]
        if given is None:
            return ""
        text = given if isinstance(given, str) else json.dumps(given, indent=1, ensure_ascii=False)
        return f'<details><summary>{label}</summary>\n<pre tabindex="0"><code>{escape(text)}</code></pre>\n</details>\n'

    def body(self, call):
        if "requestBody" not in call:
            return ""
        body = self.resolve(call["requestBody"])
        rows, examples = [], ""
        for media, content in body["content"].items():
            rows.append([f"<code>{media}</code>", self.type_of(content["schema"]) if "schema" in content else ""])
            if "properties" in content.get("schema", {}):
                rows[-1][1] = ", ".join(f"<code>{escape(name)}</code>" for name in content["schema"]["properties"])
            examples += self.example(f"Example of {escape(media)}", content)
        words = f"<p>{self.inline(body['description'])}</p>\n" if "description" in body else ""
        return "<h3>Body</h3>\n" + words + table("Body", ("Content-Type", "What"), rows) + examples

    def answers(self, call):
        rows, examples = [], ""
        for status, given in call["responses"].items():
            answer = self.resolve(given)
            kinds = ", ".join(f"{self.type_of(content['schema'])} as <code>{media}</code>" if "$ref" in content["schema"]
                              else f"<code>{media}</code>" for media, content in answer.get("content", {}).items())
            if "$ref" not in given:
                rows.append([f"<code>{status}</code>", self.inline(answer["description"]), kinds])
                for media, content in answer.get("content", {}).items():
                    examples += self.example(f"Example of an answer, {status}", content)
        refused = [status for status, given in call["responses"].items() if "$ref" in given]
        if refused:
            codes = " ".join(f"<code>{status}</code>" for status in sorted(refused))
            rows.append([codes, "refused: the code says why", f'{self.link_schema("Problem")}'])
        return "<h3>Answers</h3>\n" + table("Answers", ("Status", "What", "Content"), rows) + examples

    def draw_call(self, method, path, call, shared):
        words = self.markdown(call["description"]) if "description" in call else ""
        rows = self.parameters(call, shared)
        return (f'<section class="call" aria-labelledby="{call["operationId"]}">\n'
                f'<h2 id="{call["operationId"]}"><code>{method.upper()} {escape(path)}</code></h2>\n'
                f"<p>{self.inline(call['summary'])}</p>\n{words}<p class=\"quiet\">{self.who_may(call)}</p>\n"
                + ("<h3>Parameters</h3>\n" + table("Parameters", ("Name", "In", "Type", "What"), rows) if rows else "")
                + self.body(call) + self.answers(call) + "</section>\n")

    def draw_schema(self, name):
        schema = self.document["components"]["schemas"][name]
        words = f"<p>{self.inline(schema['description'])}</p>\n" if "description" in schema else ""
        rows = self.members(schema)
        if not rows:
            words += f"<p>{self.type_of(schema)}</p>\n"
        return f'<h3 id="{name}">{name}</h3>\n{words}{table(name, ("Member", "Type", "What"), rows)}'

    # ---- pages ----

    def draw_schemas(self, home):
        mine = sorted(name for name, where in self.homes.items() if where == home)
        return "".join(self.draw_schema(name) for name in mine)

    def tag_page(self, tag):
        calls = [one for one in self.calls if one[2]["tags"][0] == tag]
        schemas = self.draw_schemas(tag)
        body = f"<p>{escape(self.words[tag])}.</p>\n" + "".join(self.draw_call(*one) for one in calls)
        contents = [(call["operationId"], f"{method.upper()} {path}") for method, path, call, _ in calls]
        if schemas:
            body += f'<h2 id="objects">Objects</h2>\n{schemas}'
            contents.append(("objects", "Objects"))
        return f"api/{tag}", f"The API: {tag}", self.words[tag] + ".", body, contents

    def shared_page(self):
        words = "Objects that calls of several kinds have in common. A member that does not apply is absent, never null."
        return f"api/{SHARED}", "The API: shared objects", words, f"<p>{words}</p>\n{self.draw_schemas(SHARED)}", []

    def index(self, codes):
        contents = [("calls", "Calls"), ("errors", "Errors"), *((anchor, text) for anchor, text, _ in codes)]
        body = self.markdown(self.document["info"]["description"])
        body += ('<p>Tokens, roles and limits: <a href="/docs/access">who may do what</a>. The whole description as one document: '
                 '<a href="/v1/openapi.json">openapi.json</a>. What several calls have in common: '
                 f'<a href="/docs/api/{SHARED}">shared objects</a>.</p>\n<h2 id="calls">Calls</h2>\n')
        for tag in self.tags:
            rows = "".join(f'<div><dt><a href="/docs/api/{tag}#{call["operationId"]}"><code>{method.upper()} {escape(path)}</code></a>'
                           f"</dt><dd>{self.inline(call['summary'])}</dd></div>\n"
                           for method, path, call, _ in self.calls if call["tags"][0] == tag)
            body += (f'<h3 id="{tag}"><a href="/docs/api/{tag}">{escape(self.words[tag])}</a></h3>\n'
                     f'<dl class="index calls">\n{rows}</dl>\n')
        body += ('<h2 id="errors">Errors</h2>\n<p>A request that is refused is answered with '
                 f"{self.link_schema('Problem')}: <code>type</code> leads to its code below, <code>errors[]</code> has every fault "
                 "at once. Each code leads on to how it is mended.</p>\n")
        for anchor, text, rows in codes:
            body += f'<h2 id="{anchor}">{escape(text)}</h2>\n{rows}'
        return "api", TITLE, DESCRIPTION, body, contents


def code_tables(text, taken):
    """Of docs/codes.md: [(anchor, heading, table of code, kind and meaning)], each code with its anchor; problems first,
    since it is their `type` that leads here."""
    tables, heading, rows, cells, seen = [], "Codes of findings in files", [], [], set(taken)
    before = level = ""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "inline" and before == "heading_open":
            heading = plain_of(token) if level != "h1" else heading
        elif token.type == "inline" and before == "td_open":
            cells.append(token)
        elif token.type == "tr_close" and cells:
            rows.append(cells)
            cells = []
        elif token.type == "table_close":
            tables.append((slug_of(heading), heading, rows))
            rows = []
        before, level = token.type, token.tag
    tables.sort(key=lambda one: one[0] != "codes-of-problems")
    made = []
    for anchor, words, lines in tables:
        drawn = [draw_code([plain_of(cell) for cell in line], seen) for line in lines]
        made.append((anchor, words, f'<dl class="index codes">\n{"".join(drawn)}</dl>\n'))
    return made


def draw_code(cells, seen):
    code = cells[0]
    kind, meaning = (cells[1], cells[2]) if len(cells) > 2 else ("", cells[1])
    anchor = "" if code in seen else f' id="{code}"'
    seen.add(code)
    kind = f" {escape(kind)}" if kind else ""
    return f'<div{anchor}><dt><a href="/docs/codes#{code}"><code>{code}</code></a>{kind}</dt><dd>{escape(meaning)}</dd></div>\n'


def make(document, codes_text, names):
    """[(name, title, description, html, contents)]"""
    api = Api(document, names)
    taken = {"calls", "errors", *api.tags}
    return [api.index(code_tables(codes_text, taken)), *map(api.tag_page, api.tags), api.shared_page()]
