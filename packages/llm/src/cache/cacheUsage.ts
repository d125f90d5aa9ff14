/** How much of a model's key-value cache is in use. */
export interface CacheUsage {
  /** Tokens of a block. */
  readonly blockTokens: number;
  readonly blocks: number;
  /** Blocks of texts that are being computed. The remaining ones are free, or keep earlier texts until their memory is needed. */
  readonly usedBlocks: number;
}
