import { patienceMs } from "./patience.ts";

/** A page that a program drives by the WebDriver protocol. Elements are named by XPath, and awaited for {@link patienceMs}. */
export interface DrivenPage {
  open(url: string): Promise<void>;
  reload(): Promise<void>;
  /** Waits for an element, and scrolls it into view. */
  waitFor(xpath: string): Promise<void>;
  /** Returns the visible text of an element. */
  text(xpath: string): Promise<string>;
  count(xpath: string): Promise<number>;
  click(xpath: string): Promise<void>;
  /** Types a text in place of what a field has. */
  fill(xpath: string, text: string): Promise<void>;
  /** Runs a function in the page, which has nothing of its surroundings but its arguments. Values travel as JSON. */
  evaluate<T, A extends readonly unknown[]>(run: (...args: A) => T | Promise<T>, ...args: A): Promise<T>;
  screenshot(): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Sends one command of the protocol, and returns its value. */
type Command = (method: "GET" | "POST" | "DELETE", path: string, body?: object) => Promise<unknown>;

/** The protocol's name of the property that holds an element's id. */
const elementKey = "element-6066-11e4-a52e-4f735466cecf";

/** Opens a window of the browser that the driver at `url` starts with these capabilities. */
export async function openWindow(url: string, capabilities: object): Promise<DrivenPage> {
  const session = (await send(url, "POST", "/session", { capabilities: { alwaysMatch: capabilities } })) as { readonly sessionId: string };
  const command: Command = (method, path, body) => send(url, method, `/session/${session.sessionId}${path}`, body);
  await command("POST", "/timeouts", { implicit: patienceMs, script: patienceMs });
  return drivenPage(command);
}

async function send(url: string, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(url + path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const { value } = (await response.json()) as { readonly value: unknown };
  if (response.ok) return value;
  const { error, message } = value as { readonly error: string; readonly message: string };
  throw new Error(`WebDriver: ${error}: ${message}: ${method} ${path} ${JSON.stringify(body)}`);
}

function drivenPage(command: Command): DrivenPage {
  const find = async (xpath: string): Promise<string> => {
    const element = (await command("POST", "/element", { using: "xpath", value: xpath })) as Readonly<Record<string, string>>;
    return `/element/${element[elementKey]}`;
  };
  const click = async (xpath: string): Promise<void> => void (await command("POST", `${await find(xpath)}/click`, {}));
  return {
    open: async (url) => void (await command("POST", "/url", { url })),
    reload: async () => void (await command("POST", "/refresh", {})),
    waitFor: async (xpath) => void (await find(xpath)),
    text: async (xpath) => (await command("GET", `${await find(xpath)}/text`)) as string,
    count: async (xpath) => ((await command("POST", "/elements", { using: "xpath", value: xpath })) as readonly unknown[]).length,
    click,
    async fill(xpath, text) {
      await click(xpath);
      await command("POST", "/execute/sync", { script: `return (${replaceText})(...arguments)`, args: [text] });
    },
    async evaluate<T, A extends readonly unknown[]>(run: (...args: A) => T | Promise<T>, ...args: A) {
      const script = `const done = arguments[arguments.length - 1];
        Promise.resolve().then(() => (${run})(...[...arguments].slice(0, -1)))
          .then((value) => done({ value }), (error) => done({ error: String(error) }));`;
      const result = (await command("POST", "/execute/async", { script, args })) as { readonly value: T; readonly error?: string };
      if (result.error !== undefined) throw new Error(`WebDriver: evaluate: ${result.error}`);
      return result.value;
    },
    screenshot: async () => Buffer.from((await command("GET", "/screenshot")) as string, "base64"),
    close: async () => void (await command("DELETE", "")),
  };
}

/** Replaces the text of the field that has the focus. Runs in the page. */
function replaceText(text: string): void {
  (document.activeElement as HTMLInputElement | HTMLTextAreaElement).select();
  document.execCommand(text === "" ? "delete" : "insertText", false, text);
}
