// Compares the architectures that can be loaded, or are refused with a reason, with those of a llama.cpp source:
//
//   node packages/llm/scripts/compareArchitectures.mjs PATH/TO/llama.cpp       (needs a build)
//
// Prints how many are supported and refused, and the names that are new there or that it no longer has. Exit code 1 if a name is new.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { draftArchitectures, refusedArchitectures, supportedArchitectures } from "@centella/llm";

const [source] = process.argv.slice(2);
if (source === undefined) {
  console.error("compareArchitectures: expected the folder of a llama.cpp source, got none");
  process.exit(2);
}
const text = readFileSync(join(source, "src/llama-arch.cpp"), "utf8");
const table = text.slice(text.indexOf("LLM_ARCH_NAMES"), text.indexOf("};", text.indexOf("LLM_ARCH_NAMES")));
const theirs = [...table.matchAll(/\{\s*LLM_ARCH_\w+,\s*"([^"]+)"\s*\}/g)].map(([, name]) => name).filter((name) => !name.startsWith("("));
const refused = [...(await refusedArchitectures()).keys()];
const known = new Set([...supportedArchitectures, ...draftArchitectures, ...refused]);
const added = theirs.filter((name) => !known.has(name));
const gone = [...known].filter((name) => !theirs.includes(name));
const supported = theirs.filter((name) => supportedArchitectures.includes(name));
console.log(
  `${theirs.length} architectures: ${supported.length} supported, ${draftArchitectures.length} as drafts, ${theirs.filter((name) => refused.includes(name)).length} refused`,
);
if (added.length > 0) console.log(`new there: ${added.join(", ")}`);
if (gone.length > 0) console.log(`not there: ${gone.join(", ")}`);
process.exit(added.length > 0 ? 1 : 0);
