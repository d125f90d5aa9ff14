import type { GgufInput } from "../source/byteSource.ts";
import type { ByteSink } from "../write/byteSink.ts";

/** A file being written. */
export interface StorageWriter extends ByteSink {
  /** What has been written is kept, also after a failure of what wrote. */
  close(): Promise<void>;
}

/** A flat folder of files where pulled models are kept: `diskStorage` in Node, `opfsStorage` in browsers, or one of your own. */
export interface ModelStorage {
  /** For messages. */
  readonly location: string;
  names(): Promise<readonly string[]>;
  /** Bytes of a file, or undefined where there is none. */
  size(name: string): Promise<number | undefined>;
  /** The file for {@link readGguf}. */
  input(name: string): Promise<GgufInput>;
  /** Opens for writing from byte `offset` on; what lies behind it is cut off. */
  write(name: string, offset: number): Promise<StorageWriter>;
  /** Waits until a file's bytes are on the medium, where that is not so when it is closed: a power cut must not leave a name without them. */
  sync?(name: string): Promise<void>;
  /** Replaces `to` in one step. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; none is fine. */
  remove(name: string): Promise<void>;
  /** Bytes that can still be stored, where that is known. */
  freeBytes(): Promise<number | undefined>;
  /** Keeps all other callers from writing the same file. @throws {GgufError} `busy`, naming the holder where that is known */
  lock(name: string): Promise<StorageLock>;
}

/** A file of the storage that only its holder may write. */
export interface StorageLock {
  /** Aborted if the lock is lost: another process may take it over when this one has been suspended for long. */
  readonly lost?: AbortSignal;
  release(): Promise<void>;
}
