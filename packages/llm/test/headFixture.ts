import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { writeGguf } from "../../gguf/test/writer.ts";
import { type FamilyGolden, familyFile } from "./familyFixture.ts";

/** Results of llama.cpp for a tiny model that drafts for another one; `scripts/head_goldens.py` writes them. */
export interface HeadGolden extends Pick<FamilyGolden, "oracle" | "metadata" | "tensors" | "ids"> {
  /** The other model. */
  readonly target: Pick<FamilyGolden, "metadata" | "tensors">;
  /** Logits of every position but the last; or those of the newest token and masked ones after it. */
  readonly logits: string;
  /** The likeliest tokens that follow the text, and the logits after each of them; without logits if all are predicted at once. */
  readonly drafted: readonly number[];
  readonly draftedLogits: string;
}

const directory = fileURLToPath(new URL("fixtures/heads", import.meta.url));

/** Names of the models. */
export const headGoldens: readonly string[] = readdirSync(directory).map((name) => name.slice(0, -".json".length));

export function readHeadGolden(name: string): HeadGolden {
  return JSON.parse(readFileSync(`${directory}/${name}.json`, "utf8")) as HeadGolden;
}

/** The bytes of a head's file, whose weights differ from those of the other model. */
export function headModel(golden: Pick<HeadGolden, "metadata" | "tensors">): Uint8Array<ArrayBuffer> {
  return writeGguf(familyFile(golden, "draft."));
}
