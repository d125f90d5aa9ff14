/** Whether `REQUIRE_BACKENDS`, a comma-separated list, names this backend. Tests then fail where it is not available, as in `.ci/run`. */
export function isRequired(backend: string): boolean {
  return process.env.REQUIRE_BACKENDS?.split(",").includes(backend) ?? false;
}
