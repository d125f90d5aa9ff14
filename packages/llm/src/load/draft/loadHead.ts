import type { GgufFile } from "@centella/gguf";
import { named } from "@centella/quant/checks";
import type { ModelSizes } from "../../model/modelBuilder.ts";
import type { ModelParts } from "../../model/modelContext.ts";
import { describeModel } from "../../model/modelInfo.ts";
import { recordModel } from "../../model/recordModel.ts";
import { headPrefix, type Target } from "../../models/heads/head.ts";
import { heads } from "../../models/heads/index.ts";
import { chosenFor } from "../compileModel.ts";
import { MetadataReader } from "../metadataReader.ts";
import type { OpenedFile } from "../modelFiles.ts";
import { type DescribeHead, type DraftHead, draftHead, draftProgram, type HeadOptions, type HeadSource } from "./draftHead.ts";
import { type DraftedOptions, type LoadFile, type OpenedDraft, sharedProgress } from "./drafting.ts";

/**
 * Loads a model and a head that drafts for it, from a file of its own.
 * @throws as `loadModel`; {ModelError | UnsupportedError} for a head that is not for this model
 */
export async function loadWithHead(
  opened: OpenedFile,
  drafting: OpenedDraft,
  { draft: _, ...options }: DraftedOptions,
  loadFile: LoadFile,
): Promise<ModelParts> {
  const reports = sharedProgress(options.onProgress, drafting.weightBytes);
  const { weightBytes, tokens, minProbability } = drafting;
  const headOptions = { ...options, onProgress: reports.draft, weightBytes, tokens, minProbability };
  const describeHead: DescribeHead = ({ config }) => describeHeadOf({ file: opened.file, config }, drafting.opened.file, headOptions);
  const parts = await loadFile(opened, { ...options, onProgress: reports.model }, { describeHead });
  return {
    ...parts,
    async close() {
      await parts.close();
      await drafting.opened.close();
    },
  };
}

/** Sizes of a program that is not compiled, with a token after the newest one. */
const smallest: ModelSizes = {
  contextLength: 1,
  sequences: 1,
  batchSize: 2,
  maxRows: 2,
  cacheType: "f32",
  activations: "f32",
  isGeluRounded: false,
  runsInFlight: 1,
};

/** Describes the head of a file. @throws {ModelError | UnsupportedError} for a head that is not for this model */
export async function describeHeadOf(
  target: Target,
  file: GgufFile,
  { weightBytes, ...options }: HeadOptions & Pick<HeadSource, "weightBytes">,
): Promise<DraftHead> {
  const name = file.metadata.string("general.architecture");
  const { head } = await named(heads, name)();
  const description = await head({ file, reader: new MetadataReader(file, name) }, target);
  const source: HeadSource = {
    description,
    weightBytes,
    record: (sizes) => recordModel({ ...draftProgram(description), prefix: headPrefix }, file, sizes),
    describe: (weights, compiled) =>
      describeModel({
        file,
        config: description.config,
        sizes: compiled.sizes,
        weights,
        chosen: chosenFor(compiled),
        warnings: file.warnings,
        contextReason: compiled.contextReason,
        sampling: {},
      }),
  };
  // Reports tensors that are missing before any weights are read.
  source.record(smallest);
  return draftHead(source, options);
}
