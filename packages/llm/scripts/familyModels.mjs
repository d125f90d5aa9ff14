// Writes the tiny models of the families as files, for other programs:
//
//   node --conditions=@centella/source packages/llm/scripts/familyModels.mjs FOLDER
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { familyGoldens, familyModel, readFamilyGolden } from "../test/familyFixture.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("familyModels: expected a folder to write to, got none");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
for (const name of familyGoldens) writeFileSync(join(folder, `${name}.gguf`), familyModel(readFamilyGolden(name)));
