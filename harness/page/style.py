"""How the page looks: system fonts, one accent, light and dark, on a screen, on a phone and on paper."""

LIGHT = {
    **{"bg": "#faf9f6", "card": "#ffffff", "fg": "#1c2226", "soft": "#59646c", "edge": "#e0ded8"},
    **{"accent": "#1e5b73", "wrong": "#a8361a", "wash": "#f1efe9", "blush": "#fbeee9", "tint": "#e9f1f4"},
    **{"h0": "#eef2f4", "h1": "#dbe8ed", "h2": "#c2dae3", "h3": "#a4c9d6", "h4": "#83b5c7", "h5": "#2f7690"},
    **{"h6": "#256880", "h7": "#1b566c", "h8": "#0f3f53", "off": "#132028", "on": "#ffffff"},
}
DARK = {
    **{"bg": "#14181b", "card": "#1a1f23", "fg": "#e3e8ea", "soft": "#9ca8b0", "edge": "#2d353b"},
    **{"accent": "#8fcbdd", "wrong": "#ff9f80", "wash": "#1f252a", "blush": "#30201b", "tint": "#1c2b32"},
    **{"h0": "#262f35", "h1": "#253842", "h2": "#244250", "h3": "#275263", "h4": "#2b6278", "h5": "#62aac3"},
    **{"h6": "#7dbdd2", "h7": "#9bd0e0", "h8": "#bfe5f0", "off": "#eaf2f5", "on": "#07151b"},
}

RULES = """
*{box-sizing:border-box}
html{color-scheme:light dark;scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
overflow-wrap:anywhere}
header,nav,main,footer{max-width:70rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:3.5rem}
h1,h2,h3,h4{line-height:1.25;font-weight:600;margin:0}
h1,h2{font-family:ui-serif,"Iowan Old Style","Palatino Linotype",Palatino,Georgia,serif;letter-spacing:-.01em}
h1{font-size:2.6rem}
h2{font-size:1.7rem;margin:4rem 0 1.25rem}
h3{font-size:1.2rem}
h4{font-size:1rem}
p{margin:.5rem 0}
a{color:var(--accent);text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:3px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:var(--card);padding:.5rem 1rem}
.kicker,.soft{color:var(--soft)}
.kicker{margin:0 0 .25rem;font-size:.9rem;letter-spacing:.04em}
.lead{font-size:1.15rem;margin:.75rem 0 0}
nav ul{list-style:none;margin:1.5rem 0 0;padding:.75rem 0;display:flex;flex-wrap:wrap;gap:.25rem 1.75rem;
border-block:1px solid var(--edge)}
code,pre,.mono{font-family:ui-monospace,"SF Mono",SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-size:.92em}
p>code{white-space:nowrap;background:var(--wash);padding:.15em .5em;border-radius:4px}
pre{margin:0;font-size:.82rem;line-height:1.55;white-space:pre;overflow-x:auto;tab-size:4;unicode-bidi:isolate}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.6rem 1rem .6rem 0;border-bottom:1px solid var(--edge);vertical-align:baseline}
thead th{font-weight:400;color:var(--soft);font-size:.9rem}
tbody th{font-weight:600}
.track th{font-weight:400;color:var(--soft);padding-top:1.5rem}
.due{font-weight:600}
.box circle{fill:none;stroke:var(--soft);stroke-width:1.25}
.box .full{fill:var(--accent);stroke:var(--accent)}
.badge{display:inline-block;font-size:.8rem;font-weight:600;line-height:1.5;padding:0 .6rem;border-radius:1rem;
border:1px solid var(--soft);color:var(--soft)}
.badge.good{color:var(--accent);border-color:var(--accent)}
.badge.bad{color:var(--wrong);border-color:var(--wrong)}
article{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:1.5rem 1.75rem;
margin:0 0 1.25rem}
.top{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline}
.top .soft{margin-left:auto;font-size:.9rem}
.mistake{border-left:3px solid var(--wrong);background:var(--blush);padding:.75rem 1rem;margin:1rem 0;
border-radius:0 6px 6px 0}
.mistake p{margin:.15rem 0}
.mistake b{color:var(--wrong)}
.said{background:var(--wash);border-radius:6px;padding:.75rem 1rem;margin:.75rem 0}
.said details{border-top:0;margin:.35rem 0 0;padding:0}
.figures{display:flex;flex-wrap:wrap;gap:1.75rem 3rem;margin:1.25rem 0}
figure{margin:0;max-width:100%}
figure>p{margin:.15rem 0 .75rem;max-width:38rem}
figcaption{font-weight:600}
.pair{display:flex;flex-wrap:wrap;gap:1rem 2rem}
.pair>div{max-width:100%}
.pair p{margin:0;font-size:.9rem;color:var(--soft)}
.key{list-style:none;padding:0;margin:.75rem 0 0;display:flex;flex-wrap:wrap;gap:.2rem 1.25rem;font-size:.85rem;
color:var(--soft)}
.key .scale{vertical-align:-.25em;margin-right:.4rem}
svg{max-width:100%;height:auto;display:block;overflow:visible}
svg.scale,svg.box{display:inline-block}
svg.box{vertical-align:-.1em}
svg text{font:13px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--fg)}
svg .axis{fill:var(--soft)}
svg .label{font-family:system-ui,sans-serif}
svg .middle{text-anchor:middle}
svg .end{text-anchor:end}
svg text.on,svg circle.on{fill:var(--on)}
svg text.off,svg circle.off{fill:var(--off)}
.hx{fill:var(--card);stroke:var(--wrong);stroke-dasharray:3 3}
.wrong{fill:none;stroke:var(--wrong);stroke-width:1.5;stroke-dasharray:3 3}
.wrong.first{stroke-width:3;stroke-dasharray:none}
.corner{fill:var(--wrong)}
.par{stroke:var(--soft);stroke-dasharray:4 4}
.bar{fill:var(--accent)}
.bar.missed{fill:var(--soft)}
.passed{fill:var(--accent)}
.failed{fill:none;stroke:var(--wrong);stroke-width:3;stroke-linecap:round}
.chart{margin-bottom:2rem}
.chart svg{width:34rem}
details{border-top:1px solid var(--edge);padding-top:.75rem;margin-top:.75rem}
summary{cursor:pointer;width:fit-content;color:var(--accent);font-weight:600;border-radius:3px}
summary small{margin-left:.35rem;font-weight:400;color:var(--soft);font-size:.9rem}
.code{display:grid;grid-template-columns:1fr 1fr;gap:0 1.5rem;margin:1rem 0}
.code>div{min-width:0}
.whose{margin:0 0 .35rem;font-size:.85rem;font-weight:400;color:var(--soft)}
.code pre,.alone{border-block:1px solid var(--edge);padding:.5rem 0}
.code span,.alone span{display:block;min-height:1.55em;width:max-content;min-width:100%;padding-right:.5rem}
.code .mark{background:var(--wash)}
.code .mine{background:var(--blush)}
.code .other{background:var(--tint)}
.facts{display:flex;flex-wrap:wrap;gap:.25rem 2rem;margin:.75rem 0;padding:0}
.facts div{display:flex;gap:.5rem}
.facts dt{color:var(--soft)}
.facts dd{margin:0;font-variant-numeric:tabular-nums}
.question{border-top:1px solid var(--edge);padding-top:1rem;margin-top:1rem}
article>.question:first-child{border-top:0;padding-top:0;margin-top:0}
.question h3{font-size:1.05rem}
.question details{border-top:0;padding-top:0;margin-top:.35rem}
.answer{border-left:3px solid var(--accent);padding-left:.9rem}
.small{font-size:.9rem}
.plain{padding-left:1.1rem;margin:.5rem 0}
.answers{margin:.5rem 0 0}
.answers dt{color:var(--soft);font-size:.9rem}
.answers dd{margin:0 0 .6rem}
footer{color:var(--soft);font-size:.9rem;padding-block:3rem}
@media(max-width:44rem){
header,nav,main,footer{padding-inline:1rem}
header{padding-top:2rem}
h1{font-size:2rem}
h2{font-size:1.45rem;margin-top:3rem}
article{padding:1.1rem 1rem}
thead{position:absolute;left:-99rem}
tbody tr{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;padding:.7rem 0;border-bottom:1px solid var(--edge)}
tbody th,tbody td{border:0;padding:0}
tbody th{flex:1 0 60%}
tbody td[data-label]::before{content:attr(data-label) " ";color:var(--soft)}
td.none{display:none}
.top .soft{margin-left:0;width:100%}
.pair{flex-wrap:nowrap;gap:.75rem}
.pair>div{flex:0 1 auto;min-width:0}
.code{grid-template-columns:1fr;gap:1rem}
.code .fill{display:none}
}
@media print{
body{background:#fff;font-size:10.5pt}
nav,.skip,footer{display:none}
header{padding-top:0}
h2{margin-top:1.5rem}
figure,tr{break-inside:avoid}
h2,h3,h4{break-after:avoid}
article{border-color:#bbb}
pre{white-space:pre-wrap}
.code span,.alone span{width:auto}
svg *,.mistake,.said,.code span{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
"""


def css() -> str:
    """The whole style sheet. Paper is light whatever the screen is."""
    light, dark = (";".join(f"--{name}:{value}" for name, value in each.items()) for each in (LIGHT, DARK))
    cells = "".join(f".h{n}{{fill:var(--h{n})}}" for n in range(9))
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{RULES}{cells}\n"
