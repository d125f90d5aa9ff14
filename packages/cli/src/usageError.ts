/** A wrong command line: exit code 2, and a pointer to the help. */
export class UsageError extends Error {
  override name = "UsageError";
}
