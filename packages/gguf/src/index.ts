export type { ByteOrder } from "./byteOrder.ts";
export type { ByteSink } from "./byteSink.ts";
export { contentOf, type GgufContent, type TensorContent } from "./content.ts";
export { type EditableSource, editMetadata, type MetadataEdit } from "./edit.ts";
export type { WritableEntry } from "./encode.ts";
export { ArgumentError, CentellaError, DisposedError, GgufError, type GgufErrorCode, type GgufErrorDetails } from "./errors.ts";
export { type EstimateOptions, estimateMemory, type MemoryEstimate } from "./estimate.ts";
export { GgufFile, readGguf } from "./file.ts";
export { type FileType, fileTypeById } from "./fileTypes.ts";
export type { HttpOptions } from "./http.ts";
export { type HttpSourceOptions, httpSource } from "./httpSource.ts";
export { formatInspect, type InspectedArray, type InspectedTensor, type InspectedValue, type InspectReport, inspect } from "./inspect.ts";
export type { LocateOptions } from "./locate.ts";
export {
  isNumericArray,
  Metadata,
  type MetadataArray,
  type MetadataEntry,
  type MetadataValue,
  type NumericArray,
  type ValueType,
} from "./metadata.ts";
export { absolutePlace, hasFileSystem, type Place, placeOf } from "./place.ts";
export { diskStorage } from "./pull/diskStorage.ts";
export type { Downloaded } from "./pull/download.ts";
export { type OpfsFolder, opfsStorage } from "./pull/opfsStorage.ts";
export {
  defaultStorage,
  findStored,
  listModels,
  type PulledModel,
  type PullOptions,
  type PullProgress,
  pull,
  removeModel,
  type StoredModel,
} from "./pull/pull.ts";
export type { ModelStorage, StorageLock, StorageWriter } from "./pull/storage.ts";
export { type Imatrix, readImatrix } from "./quantize/imatrix.ts";
export { type MixModel, type MixOptions, type MixTensor, tensorTypes } from "./quantize/mix.ts";
export {
  type QuantizedTensor,
  type QuantizeGgufOptions,
  type QuantizePlanOptions,
  type QuantizeReport,
  quantizeGguf,
  quantizePlan,
} from "./quantize/quantizeGguf.ts";
export { type Recipe, recipeOf, recipes } from "./quantize/recipes.ts";
export { type ByteSource, type GgufInput, openSource } from "./source.ts";
export { mergedContent, type SplitOptions, splitContent } from "./split.ts";
export { parseSplitName, type SplitName, splitName } from "./splitName.ts";
export { StringTable } from "./stringTable.ts";
export type { ChunkOptions, ReadOptions, TensorChunk } from "./tensorData.ts";
export type { TensorInfo } from "./tensorInfo.ts";
export type { WholeFileOptions } from "./wholeFile.ts";
export { type WriteOptions, type WriteTarget, writeGguf } from "./write.ts";
