import { ArgumentError, UnsupportedError } from "@centella/core";
import type { GgufFile } from "@centella/gguf";
import { checkOptions } from "@centella/quant/checks";
import type { ModelDescription } from "../../model/modelBuilder.ts";
import { recordPart } from "../../model/recordModel.ts";
import type { LoadModelOptions } from "../loadOptions.ts";
import { type DraftHead, draftHead, draftProgram, type HeadSource } from "./draftHead.ts";
import { defaultTokens, draftKinds } from "./drafting.ts";

/**
 * The block of a model's own file that predicts further tokens.
 * @throws {ArgumentError} for a runtime of its own; {UnsupportedError} if the file has no such block, or its family's is not computed
 */
export async function describeNextn(
  { config, nextn }: ModelDescription,
  file: GgufFile,
  { draft = {}, cacheType, sequences, signal }: Pick<LoadModelOptions, "draft" | "cacheType" | "sequences" | "signal">,
): Promise<DraftHead> {
  const { tokens = defaultTokens, minProbability = 0 } = checkOptions("loadModel.draft", draft, draftKinds);
  if (draft.runtime !== undefined)
    throw new ArgumentError(
      "loadModel.draft",
      "no runtime without a source",
      "a runtime",
      "the model's own block is computed by the model's runtime",
    );
  if (nextn === undefined)
    throw new UnsupportedError(
      "draft without a source",
      config.nextnBlocks === 0
        ? "the file has no block that predicts further tokens; name a draft model"
        : `blocks that predict further tokens are not computed for ${config.architecture}; name a draft model`,
    );
  const description = await nextn();
  const source: HeadSource = { description, weightBytes: 0, record: (sizes) => recordPart(draftProgram(description), file, sizes) };
  return draftHead(source, { tokens, minProbability, cacheType, sequences, signal });
}
