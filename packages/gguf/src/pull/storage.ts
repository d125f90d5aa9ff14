import type { GgufInput } from "../source/byteSource.ts";
import type { ByteSink } from "../write/byteSink.ts";

/** A file being written. */
export interface StorageWriter extends ByteSink {
  /** Keeps the written bytes, also after a failed write. */
  close(): Promise<void>;
}

/** A flat folder of files for pulled models: `diskStorage` in Node, `opfsStorage` in browsers, or a custom storage. */
export interface ModelStorage {
  /** Location of the storage, for messages. */
  readonly location: string;
  names(): Promise<readonly string[]>;
  /** Size of a file in bytes, or undefined if it does not exist. */
  size(name: string): Promise<number | undefined>;
  /** The file for {@link readGguf}. */
  input(name: string): Promise<GgufInput>;
  /** Opens a file for writing from byte `offset`, and truncates it there. A storage may reserve room for a file of `size` bytes. */
  write(name: string, offset: number, size?: number): Promise<StorageWriter>;
  /** Waits until the bytes of a file are on the medium, if close() does not ensure that. A power cut must not leave an incomplete file. */
  sync?(name: string): Promise<void>;
  /** Replaces `to` in one step. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file if it exists. */
  remove(name: string): Promise<void>;
  /** Free space in bytes, or undefined if unknown. */
  freeBytes(): Promise<number | undefined>;
  /** Locks a file, so that no other caller writes it. @throws {GgufError} `busy`, with the holder if it is known */
  lock(name: string): Promise<StorageLock>;
}

/** The lock of a file in the storage. Only its holder may write the file. */
export interface StorageLock {
  /** Aborted if the lock is lost: another process may take it over after this one was suspended for long. */
  readonly lost?: AbortSignal;
  release(): Promise<void>;
}
