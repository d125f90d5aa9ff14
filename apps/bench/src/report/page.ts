import { fileURLToPath } from "node:url";
import { elementAt } from "@centella/quant/checks";

import { build } from "esbuild";
import type { ReportData } from "./data.ts";

const style = `
  :root { color-scheme: light dark; --text: #1d2733; --muted: #5d6b7a; --back: #fff; --card: #f5f7f9; --line: #d8dee5 }
  @media (prefers-color-scheme: dark) { :root { --text: #e4e9ee; --muted: #94a3b3; --back: #12171d; --card: #1a2129; --line: #2f3943 } }
  * { box-sizing: border-box }
  body { margin: 0 auto; max-width: 62rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back) }
  h1 { font-size: 1.6rem; margin: .5rem 0 } h2 { font-size: 1.2rem; margin: 2rem 0 .25rem }
  p { margin: .25rem 0 .75rem; color: var(--muted); max-width: 46rem }
  label { color: var(--muted) } select { font: inherit; max-width: 100%; color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .3rem }
  figure { margin: 0; padding: .75rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; overflow: hidden }
  figure + figure { margin-top: .75rem }
  figure svg { max-width: 100%; height: auto; display: block; overflow: visible }
  figure figure { border: 0; padding: 0 } figure h2 { font-size: 1rem; margin: 0 0 .5rem } .empty { color: var(--muted) }
  svg text { font-family: system-ui, sans-serif }
`;

/** The whole report as one file with data, plotting code and style; it loads nothing. */
export async function reportPage(data: ReportData): Promise<string> {
  const client = new URL(import.meta.url.endsWith(".ts") ? "client.ts" : "client.js", import.meta.url);
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(client)],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    write: false,
    legalComments: "none",
    logLevel: "silent",
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Centella: benchmarks</title>
<style>${style}</style>
<h1>Centella: benchmarks</h1>
<p>Medians with 95 % bootstrap intervals, from committed receipts; subject and peer took turns in one run. Losses are drawn like wins.</p>
<label>Machine <select id="machine"></select></label>
<main></main>
<script type="application/json" id="data">${dataText(data)}</script>
<script>${elementAt(outputFiles, 0).text.replaceAll("</script", "<\\/script")}</script>
</html>
`;
}

/** The data in the form in which the page contains it. Shows whether a page belongs to the receipts. */
export function dataText(data: ReportData): string {
  return JSON.stringify(data).replaceAll("<", "\\u003c");
}
