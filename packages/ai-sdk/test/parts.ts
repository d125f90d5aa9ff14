import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { expect } from "vitest";

/** Reads a stream of a model to its end, and holds its parts to the order that the specification asks for. */
export async function readParts(stream: ReadableStream<LanguageModelV4StreamPart>): Promise<readonly LanguageModelV4StreamPart[]> {
  const parts: LanguageModelV4StreamPart[] = [];
  const order = new PartOrder();
  for await (const part of stream as ReadableStream<LanguageModelV4StreamPart> & AsyncIterable<LanguageModelV4StreamPart>) {
    order.check(part);
    parts.push(part);
  }
  order.end();
  return parts;
}

/** The provider, with models whose streams are held to that order. */
export function withCheckedStreams<Provider extends ((id: never) => LanguageModelV4) & { languageModel(id: never): LanguageModelV4 }>(
  provider: Provider,
): Provider {
  return new Proxy(provider, {
    apply: (target, _, [id]) => checked(target(id as never)),
    get: (target, key) => (key === "languageModel" ? (id: never) => checked(target.languageModel(id)) : Reflect.get(target, key)),
  });
}

function checked(model: LanguageModelV4): LanguageModelV4 {
  const doStream: LanguageModelV4["doStream"] = async (call) => {
    const { stream, ...rest } = await model.doStream(call);
    const order = new PartOrder();
    const held = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
      transform(part, controller) {
        order.check(part);
        controller.enqueue(part);
      },
      flush: () => order.end(),
    });
    return { ...rest, stream: stream.pipeThrough(held) };
  };
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  return { specificationVersion, provider, modelId, supportedUrls, doStream, doGenerate: (call) => model.doGenerate(call) };
}

/** The states of a stream: begun, between blocks, in one block, finished. */
export class PartOrder {
  #count = 0;
  #open: { readonly kind: string; readonly id: string } | undefined;
  #isFinished = false;
  readonly #seen = new Set<string>();
  /** Calls whose input has ended, and the input. */
  #ended: { readonly id: string; readonly input: string } | undefined;
  #input = "";

  check(part: LanguageModelV4StreamPart): void {
    expect(this.#isFinished, `${part.type} after the finish`).toBe(false);
    if (this.#count++ === 0) expect(part.type).toBe("stream-start");
    const [, kind, edge] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(part.type) ?? [];
    if (kind !== undefined) this.#block(kind, edge!, part as { readonly id: string; readonly delta?: string });
    else if (part.type === "tool-call") {
      expect(this.#ended).toEqual({ id: part.toolCallId, input: part.input });
      JSON.parse(part.input);
      this.#ended = undefined;
    } else if (part.type === "finish") {
      this.end();
      this.#isFinished = true;
    }
  }

  /** Nothing is open. */
  end(): void {
    expect(this.#open).toBeUndefined();
  }

  #block(kind: string, edge: string, { id, delta }: { readonly id: string; readonly delta?: string }): void {
    if (edge === "start") {
      expect(this.#open, `${kind} ${id} begins`).toBeUndefined();
      expect(this.#seen.has(id), `${id} is new`).toBe(false);
      this.#seen.add(id);
      this.#open = { kind, id };
      this.#input = "";
      return;
    }
    expect(this.#open).toEqual({ kind, id });
    if (edge === "delta") {
      expect(delta).not.toBe("");
      this.#input += delta;
    } else {
      this.#open = undefined;
      if (kind === "tool-input") this.#ended = { id, input: this.#input };
    }
  }
}
