// Writes a digest of the package's manifest and of its code into build/esm/linking/codeVersion.js: kernels that one version keeps are not
// those of another.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const code = new URL("../build/esm/", import.meta.url);
const to = "linking/codeVersion.js";
const files = readdirSync(code, { recursive: true }).map((path) => path.replaceAll("\\", "/"));
const digest = createHash("sha256").update(readFileSync(new URL("../package.json", import.meta.url)));
for (const path of files.filter((each) => each.endsWith(".js") && each !== to).sort())
  digest.update(path).update(readFileSync(new URL(path, code)));
writeFileSync(new URL(to, code), `export const codeVersion = "${digest.digest("hex").slice(0, 16)}";\n`);
