import { createHash } from "node:crypto";
import { type GgufFile, quantizeGguf, type Recipe, readGguf } from "@centella/gguf";
import { type FamilyGolden, familyModel, importance } from "./familyFixture.ts";

/** Digest of the types and bytes of a file's tensors, by name. */
export async function blockDigest(file: GgufFile): Promise<string> {
  const hash = createHash("sha256");
  for (const tensor of file.tensors.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    hash.update(`${tensor.name} ${tensor.type}\n`).update(await file.readTensor(tensor));
  return hash.digest("hex").slice(0, 32);
}

/** The golden's model by a recipe, with the importance matrix of block_types.py or without. */
export async function quantizedWith(golden: FamilyGolden, recipe: Recipe, hasImatrix: boolean): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  await using file = await readGguf(familyModel(golden));
  const imatrix = hasImatrix && { imatrix: { entries: importance(golden), chunks: 1, datasets: [] } };
  await quantizeGguf({ write: async (piece) => void pieces.push(Uint8Array.from(piece)) }, file, recipe, { threads: 1, ...imatrix });
  return Buffer.concat(pieces);
}
