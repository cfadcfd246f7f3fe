#!/usr/bin/env python3
"""tests/lint/test_docs.py: server/tools/docs_text.py lets no markup through and refuses links that lead nowhere, as TAP.

Run from the repository's root.
"""
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "server/tools")
from docs_text import Fault, Page, first_sentence, slug_of  # noqa: E402

NAMES = {"format", "api"}
TOP = "# Title\n\nA first sentence. Another one.\n\n"
results = []


def check(name, good, note=""):
    results.append((name, good, note))


def drawn(name, text, *wanted):
    """Draws a page, which must hold what is wanted; wanted that begin with ! must not be there."""
    try:
        page = Page("docs/x.md", TOP + text, NAMES)
    except Fault as fault:
        check(name, False, fault)
        return
    check(name, all((one[1:] not in page.html) if one[0] == "!" else one in page.html for one in wanted), page.html)


def refused(name, text, sentence):
    try:
        Page("docs/x.md", text, NAMES)
        check(name, False, "it was taken")
    except Fault as fault:
        check(name, sentence in str(fault), fault)


drawn("markup in the source is text", "<script>alert(1)</script> and <b onclick=x>y</b>", "&lt;script&gt;", "!<script", "!<b ")
drawn("a script's address makes no link", "[x](javascript:alert(1))", "!href=\"javascript")
drawn("code is escaped", "`<i>` and\n\n    <u>&\n", "&lt;i&gt;", "&lt;u&gt;&amp;", "!<i>", "!<u>")
drawn("a link to a page of ours is an address here", "[f](format.md#name) [g](docs/format.md)", 'href="/docs/format#name"',
      'href="/docs/format"')
drawn("a name of a page in code is a link, another name is not", "`docs/format.md` `docs/none.md`",
      '<code><a href="/docs/format">docs/format</a></code>', "<code>docs/none.md</code>")
drawn("a table scrolls in its own box and has anchors for codes", "## Of a table\n\n| code | what |\n|---|---|\n| `a-b` | x |\n",
      'class="scroll" tabindex="0" role="region" aria-label="Of a table"', '<tr id="a-b">', '<td data-h="what">',
      '<th scope="col">', '<h2 id="of-a-table">')
refused("a link to nowhere", TOP + "[x](none.md)", "docs/x.md:5: the link to none.md")
refused("a link out of the folder", TOP + "[x](../README.md)", "../README.md")
refused("two headings of one name", TOP + "## A\n\n## A\n", "docs/x.md:7: two places are called #a")
refused("a page without a title", "## A\n\nText.\n", "begins with a heading")
refused("a picture", TOP + "![x](y.png)", "no pictures")
check("a sentence ends at its end", first_sentence("Of v0.5 and 1.2 s. More") == "Of v0.5 and 1.2 s.")
check("anchors are those of code hosts", slug_of("What is kept, and for how long") == "what-is-kept-and-for-how-long")

print(f"1..{len(results)}")
for number, (label, good, note) in enumerate(results, 1):
    print(f"{'ok' if good else 'not ok'} {number} - {label}" + ("" if good else "\n# " + str(note).replace("\n", "\n# ")))
sys.exit(not all(good for _, good, _ in results))
