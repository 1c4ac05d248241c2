"""The page's markup and style."""

from __future__ import annotations

FIGURE = """
<section id="{file}">
  <h3>{heading}</h3>
  <figure><img alt="{heading}" src="data:image/svg+xml;base64,{picture}"></figure>
  <p>{caption}</p>
  <p class="files">{files}</p>
</section>
"""

CLAIM = """<tr><td data-label="claim">{statement}</td><td data-label="paper">{paper}</td>
<td data-label="this run">{found}<small>{criterion}</small></td>
<td data-label="verdict"><b class="{kind}">{verdict}</b></td>
<td data-label="data">{data}</td></tr>"""

CLAIMS = """<table class="claims"><thead><tr><th>claim</th><th>paper</th><th>this run</th><th>verdict</th>
<th>data</th></tr></thead><tbody>
{rows}
</tbody></table>"""

SIGNALS = """<h2 id="signals">Signals in transformers</h2>
<p>How should a transformer be initialised so that it trains? This part redoes <i>Two failure modes of deep
transformers and how to avoid them: a unified theory of signal propagation at initialisation</i> by
Giorlandino and Goldt. Its values are those of the limit of many tokens, evaluated for the
networks run here; the finite-size theory beside them is this package's own.</p>
"""

_STYLE = """
:root { --ink: #1b1f24; --soft: #5b626b; --rule: #e3e6ea; --link: #0b5394; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2.5rem 1.25rem 4rem; color: var(--ink);
  background: #fff; font: 1rem/1.6 Georgia, "Iowan Old Style", "Times New Roman", serif; }
h1, h2, h3, nav, table, footer, .files { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.45rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1.1rem; margin: 0 0 .4rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
nav { color: var(--soft); font-size: .88rem; margin: 1.5rem 0; }
section { border-top: 1px solid var(--rule); padding: 1.4rem 0 .3rem; }
figure { margin: .8rem 0; } img { max-width: 100%; height: auto; display: block; margin: 0 auto; }
.wide { overflow-x: auto; }
.files { color: var(--soft); font-size: .78rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; margin: .8rem 0; }
th, td { text-align: right; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
.claims th, .claims td { text-align: left; vertical-align: top; padding: .55rem .9rem .55rem 0; }
.settings td:nth-child(-n+2), .settings th:nth-child(-n+2) { text-align: left; }
.claims td:nth-child(5) { color: var(--soft); font-size: .92em; }
.claims b { white-space: nowrap; border-bottom: 3px solid; padding-bottom: 1px; }
.claims small { display: block; color: var(--soft); font-size: .92em; margin-top: .35rem; }
b.agrees { border-color: #11734b; } b.in_part { border-color: #c2870c; }
b.disagrees { border-color: #b3261e; } b.undecided { border-color: #8a929b; }
footer { border-top: 1px solid var(--rule); color: var(--soft); font-size: .82rem; padding-top: 1rem; }
@media (min-width: 42rem), print {
  .claims td:nth-child(1) { width: 24%; } .claims td:nth-child(2) { width: 12%; }
  .claims td:nth-child(5) { width: 17%; }
}
@media (max-width: 42rem) {
  body { padding: 1.2rem .9rem 2rem; }
  figure { overflow-x: auto; } img { max-width: none; margin: 0; }
  .claims, .claims tbody, .claims tr, .claims td { display: block; }
  .claims thead { display: none; }
  .claims tr { border-top: 1px solid var(--rule); padding: .7rem 0; }
  .claims td { border: 0; padding: .12rem 0; }
  .claims td:not(:first-child)::before { content: attr(data-label) ": "; color: var(--soft); }
}
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  table { font-size: 8pt; } .claims th, .claims td { padding: .3rem .6rem .3rem 0; } a { color: inherit; }
  section, .claims tr { break-inside: avoid; } h2 { break-after: avoid; } .wide { overflow: visible; } }
""".replace("{", "{{").replace("}", "}}")

PAGE = (
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simonides: the paper, redone</title>
<style>"""
    + _STYLE
    + """</style>
</head>
<body>
<h1>How many facts fit in a matrix? The paper, redone</h1>
<p>A matrix stores the fact “x goes with y” when y scores highest, among all outputs, for the image
of x. This page redoes the figures and checks the claims of <i>Factual recall in linear associative
memories: sharp asymptotics and mechanistic insights</i> by Giorlandino, Goldt and Maillard, beside a theory
that holds at finite size. In the original problem all inputs share their outputs; in the decoupled
one each input has its own. {summary}</p>
<nav>{contents}</nav>
{claims}
<h2 id="figures">Figures</h2>
{figures}
{signals}
{theory}
<h2 id="settings">Settings and times</h2>
<div class="wide">{settings}</div>
<footer>{versions}. Every number and picture on this page was computed by the command that wrote it;
errors are standard errors over instances unless said otherwise.</footer>
</body>
</html>
"""
)
