import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** C75…: products of warpgroups that wait for each other, and registers that are not handed out. */
export const complaint = /warning|error|\(C75/i;

/** The version of the machine's ptxas; undefined without one. */
export const assembler = await run("ptxas", ["--version"]).then(
  ({ stdout }) => stdout.trim().split("\n").at(-1)!,
  () => undefined,
);

/** What ptxas says against a text, spills among it; undefined if nothing. */
export async function assemble(ptx: string, target: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "ptxas-"));
  try {
    const file = join(folder, "kernel.ptx");
    await writeFile(file, ptx);
    const { stdout, stderr } = await run("ptxas", ["-v", "--warn-on-spills", `-arch=${target}`, file, "-o", join(folder, "kernel.cubin")]);
    const said = `${stdout}${stderr}`;
    const isFine = !complaint.test(said) && /\b0 bytes spill stores, 0 bytes spill loads/.test(said);
    return isFine ? undefined : said;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await rm(folder, { recursive: true });
  }
}
