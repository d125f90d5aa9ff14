const systemReasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  ENOTDIR: "a part of the path is not a directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  EISDIR: "it is a directory",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ENOSPC: "no space is left on the device",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would become too large",
};

/** Returns the reason of a failed system call as text. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = "code" in cause ? String(cause.code) : "";
  return systemReasons[code] ?? cause.message;
}

/** Whether an error is a system error with this code, such as `EEXIST`. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Returns the result, or undefined if the file does not exist. */
export async function unlessMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  return promise.catch((error: unknown) => {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  });
}
