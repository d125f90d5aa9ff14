import { existsSync } from "node:fs";
import { type Browser, firefox } from "playwright-core";
import { patient } from "./patience.ts";
import { startTwice } from "./startTwice.ts";
import { vulkanEnvironment } from "./swiftshader.ts";

/** Where Debian and Ubuntu install Firefox. */
const paths = ["/usr/bin/firefox-esr", "/usr/bin/firefox"];

/**
 * Launches the machine's own Firefox, headless and with a fresh profile, or returns the reason why it does not run here. `FIREFOX` is its path
 * if it is not in `/usr/bin`. WebGPU computes on SwiftShader; where SwiftShader does not run, the page has no adapter.
 */
export async function launchFirefox(): Promise<Browser | string> {
  const executablePath = process.env.FIREFOX ?? paths.find((path) => existsSync(path));
  if (executablePath === undefined) return "there is no /usr/bin/firefox-esr or /usr/bin/firefox; install one, or set FIREFOX to its path";
  return startTwice("Firefox", async () => {
    const browser = await firefox.launch({
      // Selects WebDriver BiDi, which released versions of Firefox speak.
      channel: "moz-firefox",
      executablePath,
      env: { ...process.env, ...vulkanEnvironment() },
      firefoxUserPrefs: {
        // On Linux, WebGPU needs the first of these, and software adapters the second.
        "dom.webgpu.enabled": true,
        "gfx.webgpu.ignore-blocklist": true,
        // Under WebDriver, about 1 of 100 workers that another worker creates never starts on a busy machine, because WebDriver listens to the
        // registration of workers. With one core, an engine in a worker creates none. Tests that ask for more threads there must expect it.
        "dom.maxHardwareConcurrency": 1,
      },
    });
    skipMediaFeatures(browser);
    return patient(browser);
  });
}

/** The part of Playwright's internals that is used here. */
interface BidiInternals {
  readonly _connection: {
    toImpl(browser: Browser): { readonly _browserSession: { send(method: string, parameters: unknown): Promise<unknown> } };
  };
}

/**
 * Keeps Playwright from setting the color scheme of new contexts. It cannot be told not to, and Firefox 153 does not have that command, so
 * every `newContext` would fail.
 */
function skipMediaFeatures(browser: Browser): void {
  // No public type has the session of a browser.
  const { _connection } = browser as unknown as BidiInternals;
  const session = _connection.toImpl(browser)._browserSession;
  const send = session.send.bind(session);
  session.send = async (method, parameters) =>
    method === "emulation.setMediaFeaturesOverride" ? undefined : await send(method, parameters);
}
