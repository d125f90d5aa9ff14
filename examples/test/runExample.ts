import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify, stripVTControlCharacters } from "node:util";

const examples = fileURLToPath(new URL("..", import.meta.url));

/** The embedded model with two million parameters, for tests. */
export const tiny: string = join(examples, "../packages/model-fable/models/fable-tiny-q8_0.gguf");

/** The environment of a script of the example's manifest: its tools, Node, Deno and Bun are on the path. Servers take a free port. */
function environment(name: string): NodeJS.ProcessEnv {
  const tools = [join(resolve(examples, name), "node_modules/.bin"), join(examples, "node_modules/.bin"), dirname(process.execPath)];
  const path = [...tools, process.env.PATH].join(":");
  return { ...process.env, PATH: path, NODE_ENV: undefined, NODE_OPTIONS: undefined, PORT: "0", NEXT_TELEMETRY_DISABLED: "1" };
}

type Command = readonly [command: string, ...args: string[]];

export interface RunOptions {
  /** Default: the example's folder. */
  readonly cwd?: string;
  /** What stderr may have. */
  readonly allowed?: RegExp;
}

/** Runs a command in the folder of an example, or in another one, and returns what it prints, without colours. @throws if it fails or writes to stderr */
export async function runExample(
  name: string,
  [command, ...args]: Command,
  { cwd = resolve(examples, name), allowed = /^$/ }: RunOptions = {},
): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(command, args, { cwd, env: environment(name) }).catch((error) => {
    // Compilers print what is wrong to stdout.
    throw new Error(`${error.message}\n${error.stdout}`, { cause: error });
  });
  if (stderr.replace(allowed, "").trim() !== "") throw new Error(`${name}: expected nothing on stderr, got ${stderr}`);
  return stripVTControlCharacters(stdout);
}

/** Starts the server of an example, or of another folder, and resolves with the URL that it prints. Disposal ends it with all its processes. */
export async function startExample(name: string, [command, ...args]: Command): Promise<{ readonly url: string } & AsyncDisposable> {
  // A group of its own: what npm packages put on the path often starts the real program and does not forward signals.
  const child = spawn(command, args, {
    cwd: resolve(examples, name),
    env: environment(name),
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const ended = once(child, "close");
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) process.kill(-child.pid!, "SIGTERM");
    await ended;
  };
  let printed = "";
  for await (const text of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    printed += text;
    // Vite prints the port in bold where colours are asked for.
    const url = /http:\/\/[\w.:[\]]+(?=[/\s])/.exec(stripVTControlCharacters(printed))?.[0];
    if (url === undefined) continue;
    child.stdout.resume();
    return { url, [Symbol.asyncDispose]: stop };
  }
  throw new Error(`${name}: expected a URL, got ${printed}`);
}
