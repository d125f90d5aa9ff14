// What this package uses of Node, so that a library for browsers too need not be compiled against all of Node's types.
declare module "node:fs" {
  export function open(path: string | URL, flags: "r", done: (error: Error | null, fd: number) => void): void;
  export function fstatSync(fd: number): { readonly size: number; isFile(): boolean };
  export function read(
    fd: number,
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
    done: (error: Error | null, bytesRead: number) => void,
  ): void;
  export function readSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number;
  export function closeSync(fd: number): void;
}

declare module "node:fs/promises" {
  interface FileHandle {
    read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
    write(buffer: Uint8Array, offset: number, length: number, position: number | null): Promise<{ bytesWritten: number }>;
    truncate(length: number): Promise<void>;
    sync(): Promise<void>;
    stat(): Promise<Stats>;
    chmod(mode: number): Promise<void>;
    chown(uid: number, gid: number): Promise<void>;
    close(): Promise<void>;
  }
  export function open(path: string | URL, flags: "r" | "r+" | "w" | "wx"): Promise<FileHandle>;
  interface Stats {
    readonly size: number;
    readonly mtimeMs: number;
    readonly mode: number;
    readonly uid: number;
    readonly gid: number;
    isFile(): boolean;
  }
  export function stat(path: string): Promise<Stats>;
  export function lstat(path: string): Promise<Stats>;
  export function statfs(path: string): Promise<{ readonly bavail: number; readonly bsize: number }>;
  export function readdir(path: string): Promise<string[]>;
  export function readFile(path: string, encoding: "utf8"): Promise<string>;
  export function mkdir(path: string, options: { readonly recursive: true }): Promise<string | undefined>;
  export function link(from: string, to: string): Promise<void>;
  export function readlink(path: string): Promise<string>;
  export function realpath(path: string): Promise<string>;
  export function rename(from: string, to: string): Promise<void>;
  export function rm(path: string, options: { readonly force: true }): Promise<void>;
}

declare module "node:path" {
  export function basename(path: string): string;
  export function dirname(path: string): string;
  export function join(...parts: string[]): string;
}

declare module "node:url" {
  export function fileURLToPath(url: URL): string;
}

declare module "node:os" {
  export function homedir(): string;
  export function hostname(): string;
}

declare module "node:crypto" {
  interface Hash {
    update(bytes: Uint8Array): this;
    digest(encoding: "hex"): string;
  }
  export function createHash(algorithm: "sha256"): Hash;
}

declare module "node:worker_threads" {
  export const parentPort: {
    on(event: "message", listener: (message: never) => void): void;
    postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  } | null;
}
