#!/usr/bin/env python3
"""tests/lint/test_templates.py: server/tools/templates.c refuses what could reach a page unescaped, as TAP.

Each case is a template body and a part of the sentence that must refuse it, or None where it must compile; then
the C that comes out is compiled and run on hostile text.
"""
import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", "build")
CC = os.environ.get("CC", "gcc")
VIEW = """{{struct row}}
  text name
  int count
{{end}}
{{view}}
  text title   # shown
  bool open
  row best
  list row rows
{{end}}
"""
LAYOUT = "{{view}}\n text title\n{{end}}\n<main>{{body}}</main>"
PART = "{{view}}\n text title\n{{end}}\n<b>{{text title}}</b>"
CASES = [
    ("text between tags", "<p>{{text title}}</p>", None),
    ("attr inside quotes", '<p title="a {{attr title}} b"></p>', None),
    ("url as a whole address and as a component", '<a href="{{url title}}">x</a><a href="/e/{{url title}}">y</a>', None),
    ("if on bool, text and list", "{{if open}}a{{else}}b{{end}}{{if not title}}c{{end}}{{if rows}}d{{end}}", None),
    ("if makes an attribute", '<option value="x"{{if open}} selected{{end}}>o</option>', None),
    ("each over a list", "<ul>{{each rows as r}}<li>{{text r.name}} {{text r.count}}</li>{{end}}</ul>", None),
    ("a struct's field", "<p>{{text best.name}}</p>", None),
    ("use and wrap", "{{# remark }}", None),
    ("void elements and shapes", '<p>a<br>b<svg><path d="M0 0"/></svg></p>', None),
    ("text in an attribute", '<p title="{{text title}}"></p>', "belongs between tags"),
    ("text in a tag", "<p {{text title}}></p>", "belongs between tags"),
    ("attr between tags", "<p>{{attr title}}</p>", "inside an attribute's quotes"),
    ("attr where an address stands", '<a href="{{attr title}}">x</a>', "write {{url}}"),
    ("url between tags", "<p>{{url title}}</p>", "inside an attribute's quotes"),
    ("an unknown context", "<p>{{raw title}}</p>", "is none of"),
    ("no context", "<p>{{title}}</p>", "is none of"),
    ("an unknown field", "<p>{{text name}}</p>", "has no field"),
    ("a field of text", "<p>{{text title.name}}</p>", "nothing is inside"),
    ("a list as text", "<p>{{text rows}}</p>", "neither text nor int"),
    ("a bool as text", "<p>{{text open}}</p>", "neither text nor int"),
    ("each over text", "{{each title as t}}{{end}}", "is no list"),
    ("if on an int", "{{if best.count}}x{{end}}", "neither bool, text nor list"),
    ("each over attributes", '<p {{each rows as r}}a{{end}}></p>', "cannot make attributes"),
    ("a variable used twice", "{{each rows as r}}{{each rows as r}}{{end}}{{end}}", "in use further out"),
    ("an inline script", "<script>let x = 1;</script>", "inline script"),
    ("text in a script", '<script src="/a.js">{{text title}}</script>', "inserted into a script"),
    ("an inline style", "<style>p { color: red }</style>", "<style>"),
    ("a style attribute", '<p style="color: red">x</p>', "give it a class"),
    ("a handler", '<p onclick="x()">x</p>', "handler"),
    ("an attribute without quotes", "<p class=a>x</p>", "double quotes"),
    ("an attribute in single quotes", "<p class='a'>x</p>", "double quotes"),
    ("an HTML comment", "<!-- x -->", "{{# }}"),
    ("a stray <", "<p>1 < 2</p>", "neither an element"),
    ("elements that cross", "<b><i>x</b></i>", "</b> closes <i>"),
    ("an element left open", "<p>x", "never closed"),
    ("an element left open in a block", "{{if open}}<p>x{{end}}", "not closed inside the block"),
    ("an element closed in a block", "<p>{{if open}}</p>{{end}}", "outside this block"),
    ("a block that ends inside a tag", "{{if open}}<p {{end}}></p>", "another place"),
    ("a glued attribute", '<p{{if open}}id="a"{{end}}></p>', "needs a blank"),
    ("a block without an end", "{{if open}}x", "no {{end}}"),
    ("an end too many", "{{end}}", "without a beginning"),
    ("else without if", "{{else}}", "without its {{if}}"),
    ("an unclosed directive", "<p>{{text title</p>", "without }}"),
    ("a part that is not there", "{{use nothing best}}", "must be there"),
    ("a part with another struct", "{{use part best}}", "is not a struct 'part'"),
    ("a layout used as a part", "{{use layout best}}", "write {{wrap}}"),
]
DECLARATIONS = [
    ("an unknown struct", "{{view}}\n list nothing rows\n{{end}}\nx", "no struct 'nothing'"),
    ("a struct that holds itself", "{{view}}\n page inner\n{{end}}\nx", "holds itself"),
    ("no view", "x", "has no {{view}}"),
    ("a field twice", "{{view}}\n text a\n int a\n{{end}}\nx", "there already"),
    ("an empty view", "{{view}}\n{{end}}\nx", "needs a field"),
    ("a struct twice", "{{struct a}}\n text a\n{{end}}\n{{struct a}}\n text a\n{{end}}\nx", "there is a struct"),
]
PROGRAM = r"""
#include <stdio.h>
#include "templates.h"
int main(void)
{
    const struct row_view rows[] = {{STR("<b>"), 7}, {STR("\"q\""), -1}};
    const struct page_view view = {.title = STR("<script>\"x\"&'</script>"), .open = true,
        .best = {STR("javascript:alert(1)"), 1}, .rows = rows, .rows_count = 2};
    struct buf out;
    buf_init(&out, 65536);
    template_page(&out, &view);
    fwrite(out.data, 1, out.len, stdout);
    buf_fini(&out);
    return out.failed;
}
"""
BODY = ('<p title="{{attr title}}">{{text title}}</p>\n  <a href="{{url best.name}}">a</a>'
        '<a href="/e/{{url title}}">b</a>\n{{each rows as r}}\n  <i>{{text r.name}} {{text r.count}}</i>\n{{end}}\n'
        '{{if not open}}<p>shut</p>{{else}}<p>open</p>{{end}}')
WANT = ('<p title="&lt;script&gt;&quot;x&quot;&amp;&#39;&lt;/script&gt;">&lt;script&gt;"x"&amp;\'&lt;/script&gt;</p>\n'
        '<a href="#">a</a><a href="/e/%3Cscript%3E%22x%22%26%27%3C%2Fscript%3E">b</a>\n'
        '<i>&lt;b&gt; 7</i>\n<i>"q" -1</i>\n<p>open</p>')


def compile_page(folder, page):
    """Writes the files and runs the compiler; returns its exit status and what it said."""
    files = {"page": page, "part": PART, "layout": LAYOUT}
    for name, text in files.items():
        with open(os.path.join(folder, name + ".html"), "w", encoding="utf-8") as out:
            out.write(text)
    done = subprocess.run([os.path.join(BUILD, "tool", "templates"), os.path.join(folder, "templates.h"),
                           os.path.join(folder, "templates.c")] +
                          [os.path.join(folder, name + ".html") for name in files],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def run_page(folder):
    """Compiles and runs BODY on hostile text; returns what it printed, or what went wrong."""
    code, said = compile_page(folder, VIEW + BODY)
    if code != 0:
        return said
    with open(os.path.join(folder, "main.c"), "w", encoding="utf-8") as out:
        out.write(PROGRAM)
    program = os.path.join(folder, "page")
    done = subprocess.run([CC, "-std=c17", "-D_GNU_SOURCE", "-I.", "-I" + folder, "-Wall", "-Wextra", "-Werror", "-o",
                           program, os.path.join(folder, "main.c"), os.path.join(folder, "templates.c"),
                           "server/page/render.c", "common/str.c", "common/status.c"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr
    return subprocess.run([program], capture_output=True, text=True, check=False).stdout


def main():
    if not os.path.exists(os.path.join(BUILD, "tool", "templates")):
        print("1..0 # SKIP %s/tool/templates is not built" % BUILD)
        return 0
    cases = [(n, VIEW + b, w) for n, b, w in CASES] + DECLARATIONS
    print("1..%d" % (len(cases) + 2))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, page, want) in enumerate(cases, 1):
            code, said = compile_page(folder, page)
            good = code == 0 if want is None else (code == 1 and want in said and "page.html:" in said)
            failed = failed or not good
            print("%sok %d - %s" % ("" if good else "not ", number, ("takes " if want is None else "refuses ") + name))
            if not good:
                print("# status %d, said: %s" % (code, said.strip()))
        code, said = compile_page(folder, VIEW + "<p>\n{{# two\nlines }}\n</p>\n<p>{{text nope}}</p>")
        good = "page.html:15:" in said
        print("%sok %d - names the line at fault" % ("" if good else "not ", len(cases) + 1))
        if not good:
            print("# said: %s" % said.strip())
        printed = run_page(folder)
        failed = failed or not good or printed != WANT
        print("%sok %d - what comes out is escaped by context" % ("" if printed == WANT else "not ", len(cases) + 2))
        if printed != WANT:
            print("# " + printed.replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
