// @vitest-environment happy-dom
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configure, renderHook, waitFor } from "@testing-library/react";
import { createElement as h, type ReactElement, type ReactNode } from "react";
import { expect, onTestFinished, test, vi } from "vitest";
import { diskStorage } from "../../gguf/src/index.ts";
import { CentellaProvider, useModel } from "../src/index.ts";
import { CountedEngine } from "./engine.ts";
import { tiny } from "./tiny.ts";

// The first model compiles modules, too.
configure({ asyncUtilTimeout: 60_000, reactStrictMode: true });

const half = tiny.length >> 1;

/** A server of the model. While it is held, its answers stop at half of the file. */
class HeldServer {
  isHeld = true;
  /** Bytes at which downloads began. */
  readonly starts: number[] = [];
  /** Number of downloads that their reader has ended. */
  ended = 0;

  readonly fetch = async (_: URL, { method, headers, signal }: RequestInit): Promise<Response> => {
    const etag = { ETag: '"a"' };
    if (method === "HEAD") return new Response(null, { headers: etag });
    const start = Number(/^bytes=(\d+)-/.exec(new Headers(headers).get("range") ?? "")?.[1]);
    this.starts.push(start);
    const range = { "Content-Range": `bytes ${start}-${tiny.length - 1}/${tiny.length}` };
    return new Response(this.#bodyFrom(start, signal), { status: 206, headers: { ...etag, ...range } });
  };

  #bodyFrom(start: number, signal: AbortSignal | null | undefined): ReadableStream {
    return new ReadableStream({
      start: (controller) => {
        controller.enqueue(new Uint8Array(tiny.subarray(start, this.isHeld ? half : tiny.length)));
        if (!this.isHeld) controller.close();
        signal?.addEventListener("abort", () => {
          this.ended++;
          controller.error(signal.reason);
        });
      },
    });
  }
}

test("a download ends when its component is unmounted in the middle of it, and goes on there in the next one", async () => {
  const server = new HeldServer();
  vi.stubGlobal("fetch", server.fetch);
  const folder = await mkdtemp(join(tmpdir(), "react-"));
  const engine = new CountedEngine();
  onTestFinished(async () => {
    await waitFor(() => expect(engine.disposed).toBe(engine.opened));
    vi.unstubAllGlobals();
    await rm(folder, { recursive: true });
  });
  const cache = await diskStorage(folder);
  const url = new URL("http://models.test/m.gguf");
  const wrapper = ({ children }: { readonly children: ReactNode }): ReactElement =>
    h(CentellaProvider, { runtime: engine.runtime, keepMs: 30 }, children);
  const mounted = () => renderHook(() => useModel(url, { contextLength: 64, cache }), { wrapper });

  const first = mounted();
  await waitFor(async () => {
    const name = (await cache.names()).find((one) => one.endsWith(".partial"));
    expect(name && (await cache.size(name))).toBe(half);
  });
  expect(first.result.current.status).toBe("downloading");
  first.unmount();
  await waitFor(() => expect(server.ended).toBe(1));

  server.isHeld = false;
  const second = mounted();
  await waitFor(() => expect(second.result.current.status).toBe("ready"));
  expect(server.starts).toEqual([0, half]);
  second.unmount();
});
