import { named } from "@centella/quant/checks";
import { UsageError } from "../usageError.ts";

/** Runs a command with its arguments and returns the exit code. */
type Command = (args: readonly string[]) => Promise<number>;

/** Commands are loaded when called: measuring on a bare GPU machine does not need the tools that draw pages and take sizes. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  model: async () => (await import("./model.ts")).modelCommand,
  gpu: async () => (await import("./gpu.ts")).gpuCommand,
  browser: async () => (await import("./browser.ts")).browserCommand,
  pages: async () => (await import("./pages.ts")).pagesCommand,
  peers: async () => (await import("./peers.ts")).peersCommand,
  calibrate: async () => (await import("./calibrate.ts")).calibrateCommand,
  docs: async () => (await import("./docs.ts")).docsCommand,
  report: async () => (await import("./report.ts")).reportCommand,
  check: async () => (await import("./docs.ts")).checkCommand,
  budgets: async () => (await import("./budgets.ts")).budgetsCommand,
  page: async () => (await import("./page.ts")).pageCommand,
  server: async () => (await import("./server.ts")).serverCommand,
  "load-process": async () => (await import("./loadProcess.ts")).loadProcessCommand,
};

/** Runs one command line. 0 is success, 1 a failure or a wrong result, 2 a wrong command line. */
export async function main(args: readonly string[]): Promise<number> {
  const [name = "", ...rest] = args;
  try {
    if (Object.hasOwn(commands, name)) return await (await named(commands, name)())(rest);
    const { benchCommand } = await import("./bench.ts");
    return await benchCommand(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`bench: ${error.message}; see pnpm bench --help`);
    return 2;
  }
}
