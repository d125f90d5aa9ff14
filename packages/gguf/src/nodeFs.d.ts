// What this package uses of Node's file system, so that a library for browsers too need not be compiled against all of Node's types.
declare module "node:fs/promises" {
  interface FileHandle {
    read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
    write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesWritten: number }>;
    sync(): Promise<void>;
    stat(): Promise<{ readonly size: number; isFile(): boolean }>;
    close(): Promise<void>;
  }
  export function open(path: string | URL, flags: "r" | "r+" | "a" | "w"): Promise<FileHandle>;
}
