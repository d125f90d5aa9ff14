import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isWholeProgram, type KernelSource } from "../../src/device/modules.ts";

const run = promisify(execFile);

/** C75…: products of warpgroups that wait for each other, and registers that are not handed out. */
export const complaint = /warning|error|\(C75/i;

/** The version of the machine's ptxas; undefined without one. */
export const assembler = await run("ptxas", ["--version"]).then(
  ({ stdout }) => stdout.trim().split("\n").at(-1)!,
  () => undefined,
);

/** What ptxas makes of a kernel. */
export interface Assembled {
  /** What it says against the text, spills among it; undefined if nothing. */
  readonly said: string | undefined;
  /** Registers of a thread, and shared memory that the text declares. */
  readonly registers: number;
  readonly sharedBytes: number;
}

/** Assembles a kernel in the form in which it is loaded: as the driver's linker does it, with `-c`, unless it is compiled as a whole program. */
export async function assemble(source: KernelSource, arch: string): Promise<Assembled> {
  const folder = await mkdtemp(join(tmpdir(), "ptxas-"));
  try {
    const file = join(folder, "kernel.ptx");
    await writeFile(file, source.ptx);
    const form = isWholeProgram(source) ? [] : ["-c"];
    const options = ["-v", "--warn-on-spills", ...form, `-arch=${arch}`, file, "-o", join(folder, "kernel.cubin")];
    const { stdout, stderr } = await run("ptxas", options);
    const said = `${stdout}${stderr}`;
    const isFine = !complaint.test(said) && /\b0 bytes spill stores, 0 bytes spill loads/.test(said);
    const number = (pattern: RegExp): number => Number(pattern.exec(said)?.[1] ?? 0);
    return {
      said: isFine ? undefined : said,
      registers: number(/Used (\d+) registers/),
      sharedBytes: number(/(\d+) bytes smem/),
    };
  } catch (error) {
    return { said: error instanceof Error ? error.message : String(error), registers: 0, sharedBytes: 0 };
  } finally {
    await rm(folder, { recursive: true });
  }
}
