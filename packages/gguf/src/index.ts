export type { ByteOrder } from "./byteOrder.ts";
export { type EditableSource, editMetadata, type MetadataEdit } from "./edit/edit.ts";
export { ArgumentError, CentellaError, DisposedError, GgufError, type GgufErrorCode, type GgufErrorDetails } from "./errors.ts";
export { type FileType, fileTypeById } from "./fileTypes.ts";
export { type HttpSourceOptions, httpSource } from "./http/httpSource.ts";
export type { HttpOptions } from "./http/request.ts";
export { diskStorage } from "./pull/diskStorage.ts";
export type { Downloaded } from "./pull/download.ts";
export type { HubOptions } from "./pull/hubRequest.ts";
export type { OpfsFolder } from "./pull/opfsFiles.ts";
export { opfsStorage } from "./pull/opfsStorage.ts";
export {
  defaultStorage,
  findPartial,
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
export { type EstimateOptions, estimateMemory, type MemoryEstimate } from "./read/estimate.ts";
export { GgufFile, readGguf } from "./read/file.ts";
export {
  formatInspect,
  type InspectedArray,
  type InspectedTensor,
  type InspectedValue,
  type InspectReport,
  inspect,
} from "./read/inspect.ts";
export {
  isNumericArray,
  Metadata,
  type MetadataArray,
  type MetadataEntry,
  type MetadataValue,
  type NumericArray,
  type ValueType,
} from "./read/metadata.ts";
export { StringTable } from "./read/stringTable.ts";
export type { ChunkOptions, ReadOptions, TensorChunk } from "./read/tensorData.ts";
export type { TensorInfo } from "./read/tensorInfo.ts";
export type { ByteSource, GgufInput } from "./source/byteSource.ts";
export type { LocateOptions } from "./source/locateOptions.ts";
export { absolutePlace, hasFileSystem, type Place, placeOf } from "./source/place.ts";
export { openSource } from "./source/source.ts";
export { parseSplitName, type SplitName, splitName } from "./splitName.ts";
export type { ByteSink } from "./write/byteSink.ts";
export { contentOf, type GgufContent, type TensorContent } from "./write/content.ts";
export type { WritableEntry } from "./write/encode.ts";
export { mergedContent, type SplitOptions, splitContent } from "./write/split.ts";
export { type WholeFileOptions, writeWholeFile } from "./write/wholeFile.ts";
export { type WriteOptions, type WriteTarget, writeGguf } from "./write/write.ts";
