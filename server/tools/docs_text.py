"""server/tools/docs_text.py: Markdown to the HTML of our pages (web.md: no style or script of its own, tables and code scroll
in a box of their own), and the addresses of links. HTML in the source is text: nothing is let through.
"""
import html
import re

from markdown_it import MarkdownIt

DOC_FILE = re.compile(r"^(?:docs/)?([a-z-]+)\.md(#.*)?$")
NAMED_FILE = re.compile(r"\bdocs/([a-z-]+)(?:\.md)?\b")


class Fault(Exception):
    """What is wrong with a source: the build ends with this sentence."""


def slug_of(text):
    """As code hosts make anchors of headings, so that one link leads to the same place here and there."""
    kept = re.sub(r"[^\w\- ]", "", text.lower())
    return kept.strip().replace(" ", "-")


def plain_of(token):
    """The words of an inline token, without markup."""
    return "".join(child.content if child.type in ("text", "code_inline") else " " if child.type == "softbreak" else ""
                   for child in token.children)


def first_sentence(text):
    found = re.match(r".+?[.?!](?=\s|$)", text)
    return found.group() if found else text


def table_open(label):
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(label)}">\n'


def link_names(names, text):
    """The escaped text with every name of a page of ours, such as docs/access.md, as a link."""
    def link(found):
        name = found.group(1)
        return f'<a href="/docs/{name}">docs/{name}</a>' if name in names else found.group()

    return NAMED_FILE.sub(link, html.escape(text, quote=False))


class Page:
    """One Markdown source as title, description and HTML; `anchors` of headings and, where the first column is of codes,
    of rows. names: of all pages, which links may lead to."""

    def __init__(self, path, text, names):
        self.path, self.names = path, names
        self.title, self.description, self.contents, self.anchors = "", "", [], set()
        self.label = ""
        parser = MarkdownIt("commonmark", {"html": False}).enable("table")
        tokens = parser.parse(text)
        parser.renderer.rules["code_inline"] = self.render_code
        for rule in ("fence", "code_block"):
            parser.renderer.rules[rule] = self.render_block
        self.html = parser.renderer.render(self.change(tokens), parser.options, {})
        if not self.title or not self.description:
            raise Fault(f"{path}: a page begins with a heading of the first level and a paragraph")

    def render_code(self, tokens, index, *_):
        return f"<code>{link_names(self.names, tokens[index].content)}</code>"

    def render_block(self, tokens, index, *_):
        return f'<pre tabindex="0"><code>{html.escape(tokens[index].content, quote=False)}</code></pre>\n'

    def change(self, tokens):
        """The tokens with anchors, boxes around tables and resolved links; the title is taken out."""
        out, head, row_of_codes, heads, column = [], False, False, [], 0
        for index, token in enumerate(tokens):
            if token.type == "heading_open":
                token = self.change_heading(token, tokens[index + 1])
                head = token is None
            elif token.type == "inline":
                self.change_inline(token)
                if not self.description and tokens[index - 1].type == "paragraph_open":
                    self.description = first_sentence(" ".join(plain_of(token).split()))
            elif token.type == "th_open":
                token.attrSet("scope", "col")
                heads.append(plain_of(tokens[index + 1]))
            elif token.type == "td_open":
                token.attrSet("data-h", heads[column])
                column += 1
            elif token.type == "table_open":
                row_of_codes = plain_of(tokens[index + 4]) in ("code", "rule", "flag")
                heads = []
            elif token.type == "tr_open":
                column = 0
                if row_of_codes:
                    self.change_row(token, tokens[index + 2])
            if head:  # the title stands above the page
                head = tokens[index].type != "heading_close"
                continue
            if token.type == "table_open":
                token.attrSet("class", "plain")
                out.append(self.raw(token, table_open(self.label or self.title)))
            out.append(token)
            if token.type == "table_close":
                out.append(self.raw(token, "</div>\n"))
        return out

    @staticmethod
    def raw(like, text):
        token = like.copy()
        token.type, token.tag, token.nesting, token.content, token.attrs, token.children = "html_block", "", 0, text, {}, None
        return token

    def add_anchor(self, name, line):
        if name in self.anchors:
            raise Fault(f"{self.path}:{line}: two places are called #{name}")
        self.anchors.add(name)
        return name

    def change_heading(self, token, inline):
        text = plain_of(inline)
        if token.tag == "h1":
            self.title = text
            return None
        anchor = self.add_anchor(slug_of(text), token.map[0] + 1)
        token.attrSet("id", anchor)
        self.label = text
        if token.tag == "h2":
            self.contents.append((anchor, text))
        return token

    def change_row(self, token, inline):
        code = plain_of(inline)
        if inline.children and inline.children[0].type == "code_inline" and code not in self.anchors:
            token.attrSet("id", self.add_anchor(code, 0))

    def change_inline(self, token):
        for child in token.children:
            if child.type == "link_open":
                child.attrSet("href", self.address_of(child.attrGet("href"), token.map[0] + 1))
            elif child.type == "image":
                raise Fault(f"{self.path}:{token.map[0] + 1}: pages of documentation have no pictures")

    def address_of(self, href, line):
        file = DOC_FILE.match(href)
        if file and file.group(1) in self.names:
            return f"/docs/{file.group(1)}{file.group(2) or ''}"
        if re.match(r"^(https?://|/[a-z]|#)", href):
            return href
        raise Fault(f"{self.path}:{line}: the link to {href} leads to no page of the service")
