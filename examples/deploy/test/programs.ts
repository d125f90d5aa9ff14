import { execFileSync, spawnSync } from "node:child_process";
import type { TestContext } from "vitest";

/** Skips a test whose program is not installed. @throws if REQUIRE_DEPLOY is set, as where all tests must run */
export function requireProgram(program: string, { skip }: Pick<TestContext, "skip">): void {
  if (spawnSync(program, ["--help"], { stdio: "ignore" }).error === undefined) return;
  if (process.env.REQUIRE_DEPLOY !== undefined) throw new Error(`${program}: expected an installed program, got none`);
  skip(`${program} is not installed`);
}

/** Runs a program to its end. @throws with what it printed if it fails */
export function runProgram(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  execFileSync(program, args, { env: { ...process.env, ...env }, stdio: "pipe" });
}
