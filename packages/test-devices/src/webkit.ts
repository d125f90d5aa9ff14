import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type DrivenPage, openWindow } from "./webDriver.ts";

/** A WebKit with one window at a time. */
export interface WebKit {
  /** Opens a window. What pages store is kept until the browser is closed, and is in no private window. */
  open(options?: { readonly isPrivate?: boolean }): Promise<DrivenPage>;
  close(): Promise<void>;
}

const driver = "/usr/bin/WebKitWebDriver";
const screen = "/usr/bin/Xvfb";
/** Debian's, which has the bindings of GTK. */
const python = "/usr/bin/python3";
const browser = fileURLToPath(new URL("../webkit/browser.py", import.meta.url));

/** What is needed, and the packages of Debian and Ubuntu that have it. */
function missing(): string | undefined {
  for (const [path, name] of [
    [driver, "webkit2gtk-driver"],
    [screen, "xvfb"],
  ] as const)
    if (!existsSync(path)) return `there is no ${path}; install ${name}`;
  const bindings = "import gi; gi.require_version('WebKit2', '4.1'); from gi.repository import WebKit2";
  if (spawnSync(python, ["-c", bindings], { stdio: "ignore" }).status === 0) return undefined;
  return `${python} cannot import WebKit2 4.1; install python3-gi and gir1.2-webkit2-4.1`;
}

/**
 * Returns WebKitGTK, the engine of Safari on Linux, or the reason why it does not run here. It starts with its first window, on a screen of its
 * own, so that a run of tests that opens none leaves no process.
 */
export async function launchWebKit(): Promise<WebKit | string> {
  const reason = missing();
  if (reason !== undefined) return reason;
  let started: ReturnType<typeof start> | undefined;
  return {
    async open({ isPrivate = false } = {}) {
      started ??= start();
      const { url, folder } = await started;
      return openWindow(url, { "webkitgtk:browserOptions": { binary: python, args: isPrivate ? [browser] : [browser, folder] } });
    },
    close: async () => (await started)?.stop(),
  };
}

/** Starts a screen and the driver, with a folder for what pages store. */
async function start(): Promise<{ readonly url: string; readonly folder: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "webkit-"));
  const processes: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const child of processes.reverse()) {
      if (hasEnded(child)) continue;
      const exited = once(child, "exit");
      child.kill();
      await exited;
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const display = spawn(screen, ["-displayfd", "3", "-screen", "0", "1280x900x24"], { stdio: ["ignore", "ignore", "ignore", "pipe"] });
    processes.push(display);
    const [number]: unknown[] = await once(display.stdio[3] as Readable, "data");
    const port = await freePort();
    const env = { ...process.env, DISPLAY: `:${String(number).trim()}`, NO_AT_BRIDGE: "1", JSC_useSharedArrayBuffer: "1" };
    const driving = spawn(driver, [`--port=${port}`], { stdio: "ignore", env });
    processes.push(driving);
    const url = `http://127.0.0.1:${port}`;
    await listening(driving, url);
    return { url, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return address.port;
}

/** A process that was killed by a signal has no exit code. */
function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Waits until a server answers. @throws if its process ends before */
async function listening(server: ChildProcess, url: string): Promise<void> {
  for (;;) {
    try {
      await fetch(`${url}/status`);
      return;
    } catch (error) {
      if (hasEnded(server)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
