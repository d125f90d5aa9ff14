import { anything, type Kinds, whole, within } from "@centella/quant/checks";
import type { DraftModel, ModelParts } from "../../model/modelContext.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { type DraftOptions, type LoadModelOptions, loadKinds } from "../loadOptions.ts";
import type { OpenedFile } from "../modelFiles.ts";
import type { ReservedMemory } from "../modelPlace.ts";
import type { DescribeHead } from "./draftHead.ts";

/** What a model is loaded with. */
export interface LoadedBeside {
  /** Memory that is kept free for another model. */
  readonly reserved?: ReservedMemory;
  /** Describes what drafts for the model by its states. */
  readonly describeHead?: DescribeHead;
}

/** Loads an opened file, and closes it if that fails. */
export type LoadFile = (opened: OpenedFile, options: LoadModelOptions, beside?: LoadedBeside) => Promise<ModelParts>;

export type DraftedOptions = LoadModelOptions & { readonly draft: DraftOptions & { readonly source: NonNullable<DraftOptions["source"]> } };

export const defaultTokens = 3;

export const draftKinds: Kinds<DraftOptions> = {
  source: anything,
  tokens: whole(1),
  minProbability: within(0, 1),
  runtime: loadKinds.runtime,
};

/** An open file that drafts, whose vocabulary is the model's. */
export interface OpenedDraft extends Pick<DraftModel, "tokens" | "minProbability"> {
  readonly opened: OpenedFile;
  readonly modelTokenizer: Tokenizer;
  readonly weightBytes: number;
  /** Undefined for a head, which drafts by the model's states. */
  readonly model: SmallerModel | undefined;
}

/** A draft model with a cache of its own. */
export interface SmallerModel {
  readonly trainedContextLength: number;
  readonly reserved: ReservedMemory;
}

/** Reports the bytes of both models as one load. */
export function sharedProgress(
  onProgress: LoadModelOptions["onProgress"],
  draftBytes: number,
): Readonly<Record<"model" | "draft", LoadModelOptions["onProgress"]>> {
  let modelBytes = 0;
  return {
    model(done, total, stage) {
      if (stage === "load") modelBytes = total;
      onProgress?.(done, stage === "load" ? total + draftBytes : total, stage);
    },
    draft(done, total, stage) {
      onProgress?.(modelBytes + Math.round((draftBytes * done) / Math.max(1, total)), modelBytes + draftBytes, stage);
    },
  };
}
