// Code blocks of guides: each is a file that CI checks, or a block of a README, which CI runs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import GithubSlugger from "github-slugger";
import { root } from "./pages.mjs";

/** Languages of blocks that guides may write themselves: commands and what they print. */
const ownLanguages = ["sh", "console", "text"];

/**
 * Fills the empty blocks of a guide: "```ts file=examples/rag/main.ts" has that file, and "```ts file=packages/llm/README.md#tools" the
 * first block of that language under the heading "Tools". @throws for code that is in no file
 */
export function fillSnippets(path, text) {
  return withTables(text).replaceAll(/^```(\w*)(?: file=(\S+))?\n([\s\S]*?)^```$/gm, (block, language, file, own) => {
    if (file !== undefined && own === "") return `\`\`\`${language}\n${snippet(language, file).trimEnd()}\n\`\`\``;
    if (file === undefined && ownLanguages.includes(language)) return block;
    throw new Error(`${path}: expected a block with file=PATH and no code of its own, got ${block}`);
  });
}

/** Fills "<!-- bench SUITE MACHINE -->" with the table of that suite, which the receipts give. */
function withTables(text) {
  const measurements = readFileSync(join(root, "apps/bench/README.md"), "utf8");
  return text.replaceAll(/^<!-- bench \S+ \S+ -->$/gm, (marker) => {
    const [, table] = measurements.split(marker);
    if (table === undefined) throw new Error(`apps/bench/README.md: expected a table ${marker}, got none`);
    return table.split("<!-- /bench -->", 1)[0];
  });
}

function snippet(language, file) {
  const [path, heading] = file.split("#");
  const text = readFileSync(join(root, path), "utf8");
  if (heading === undefined) return text;
  const slugger = new GithubSlugger();
  const section = text
    .replaceAll(/^```[\s\S]*?^```$/gm, (block) => block.replaceAll(/^#/gm, "\0"))
    .split(/^#+ /m)
    .find((part) => slugger.slug(part.split("\n", 1)[0]) === heading);
  const code = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(section ?? "")?.[1];
  if (code === undefined) throw new Error(`${path}: expected a block of ${language} under a heading #${heading}, got none`);
  return code.replaceAll("\0", "#");
}
