"""The page's markup and style."""

from __future__ import annotations

SECTION = """
<section id="{name}">
  <h2>{question}</h2>
  <p>{caption}</p>
  <figure><img alt="{title}" src="data:image/svg+xml;base64,{picture}"></figure>
  <details><summary>The numbers (figures/{name}.csv has all of them)</summary>
  <div class="wide">{data}</div></details>
</section>
"""

_STYLE = """
:root { --ink: #1b1f24; --soft: #5b626b; --rule: #e3e6ea; --link: #0b5394; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 2.5rem 1.25rem 4rem; color: var(--ink);
  background: #fff; font: 1rem/1.6 Georgia, "Iowan Old Style", "Times New Roman", serif; }
h1, h2, nav, table, summary, footer { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 0 0 .4rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
nav { color: var(--soft); font-size: .88rem; margin: 1.5rem 0; }
section { border-top: 1px solid var(--rule); padding: 1.6rem 0 .4rem; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; display: block; margin: 0 auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; margin: .8rem 0; }
th, td { text-align: right; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
summary { cursor: pointer; color: var(--soft); font-size: .86rem; }
footer { border-top: 1px solid var(--rule); color: var(--soft); font-size: .82rem; padding-top: 1rem; }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; } nav, details { display: none; }
  section { break-inside: avoid; } }
""".replace("{", "{{").replace("}", "}}")

PAGE = (
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simonides: how many facts fit in a matrix</title>
<style>"""
    + _STYLE
    + """</style>
</head>
<body>
<h1>How many facts fit in a matrix?</h1>
<p>A matrix stores the fact “x goes with y” when y scores highest, among all outputs, for the image
of x. This page shows what theory says about it: at finite size, in the limit of large dimension,
and for the Hebbian rule.</p>
<div class="wide">{headline}</div>
<nav>{contents}</nav>
{sections}
<footer>{versions}. Every number and picture on this page was computed by the command that wrote it.
</footer>
</body>
</html>
"""
)
