/**
 * Limits of a header, so that a hostile or damaged file is an error before it costs memory or time. In addition, no count or length may
 * exceed what fits in the rest of the file.
 */
export const limits = {
  /**
   * The largest headers known (262,144 tokens with scores, types and merges) take under 40 MB; the header is kept in memory while it is
   * read.
   */
  headerBytes: 268_435_456,
  /** Files have tens of keys. */
  metadataEntries: 4_194_304,
  /** Keys that are compared to find one; a fair hash needs some tens. */
  keyProbes: 4_096,
  /** The largest models have a few thousand tensors, or 50,000 where every expert has its own; each becomes an object. */
  tensors: 65_536,
  /** The GGUF specification allows keys of up to 2^16 - 1 bytes. */
  keyBytes: 65_535,
  /** ggml allows 63; other writers have gone beyond. */
  tensorNameBytes: 1_024,
  /** `GGML_MAX_DIMS` of ggml.h. */
  dimensions: 4,
  /** Strings of one array, 256 times the largest vocabularies: an offset of four bytes is kept for each. */
  strings: 67_108_864,
  /** Arrays within one another; no known file goes beyond two. */
  arrayDepth: 16,
  /** Arrays within arrays and elements of arrays of truth values, in one file: each becomes a JavaScript value. */
  nestedElements: 131_072,
  /** First read of the header; each further one makes what has been read four times as much, up to `readBytes` more. */
  firstReadBytes: 65_536,
  /** Largest single read of the header. */
  readBytes: 16_777_216,
  /** First request for a remote file: most headers without a vocabulary are smaller, and a little too much costs less than a round trip. */
  firstRemoteBytes: 131_072,
  /** Bytes of a page of a hub's list of files. Hugging Face's have 1,000 files of some 500 bytes. */
  hubPageBytes: 16_777_216,
  /** Files and folders of a repository on a hub; a model with every quantisation in parts has some hundreds. */
  hubEntries: 100_000,
  /** Pages of a hub's list. */
  hubPages: 1_000,
  /** Delay of a timer, in ms. Node and browsers treat longer ones as 1 ms. */
  timerMs: 2_147_483_647,
  /** Of a URL that carries its data, in messages. */
  dataUrlCharacters: 80,
  /** Of a path in messages: `PATH_MAX` of Linux, the longest of the systems' limits. */
  pathCharacters: 4_096,
} as const;
