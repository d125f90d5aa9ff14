import type { MetadataReader } from "../load/metadataReader.ts";
import type { ModelDescription } from "../model/modelBuilder.ts";

/**
 * A model family: reads the hyperparameters of a file and describes its model.
 * @throws {ModelError | UnsupportedError} for metadata that is incomplete, contradicts itself or asks for something that is not computed
 */
export type Family = (file: MetadataReader) => ModelDescription | Promise<ModelDescription>;
