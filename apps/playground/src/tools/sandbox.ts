import { frameScript } from "./frameScript.ts";

/** What the frame may do: run its script and start workers. It has no network. */
const framePolicy = "default-src 'none'; script-src 'unsafe-inline'; worker-src data:";

const timeoutMs = 2000;

/** Runs code of the user apart from the page: in a frame of no origin, without network and storage. */
export class Sandbox {
  readonly #frame: HTMLIFrameElement;
  readonly #ready: Promise<void>;

  constructor() {
    this.#frame = document.createElement("iframe");
    this.#frame.setAttribute("sandbox", "allow-scripts");
    this.#frame.hidden = true;
    this.#frame.title = "tools";
    // The page's own policy holds in the frame, too: it names the script by its hash.
    this.#frame.srcdoc = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${framePolicy}"><script>${frameScript}</script>`;
    this.#ready = new Promise((resolve) => {
      const listen = ({ source }: MessageEvent): void => {
        if (source !== this.#frame.contentWindow) return;
        removeEventListener("message", listen);
        resolve();
      };
      addEventListener("message", listen);
    });
    document.body.append(this.#frame);
  }

  /** Calls the function `run` that the code declares. @throws {Error} what the code throws, and if it takes more than two seconds */
  async call(code: string, input: unknown): Promise<unknown> {
    await this.#ready;
    const { port1, port2 } = new MessageChannel();
    const answer = await new Promise<{ readonly result?: unknown; readonly error?: string }>((resolve) => {
      port1.onmessage = ({ data }) => resolve(data);
      this.#frame.contentWindow?.postMessage({ code, input, timeoutMs }, "*", [port2]);
    });
    port1.close();
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.result;
  }

  dispose(): void {
    this.#frame.remove();
  }
}
