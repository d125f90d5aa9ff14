/** A handler of events, as the DOM types it. */
// biome-ignore lint/suspicious/noExplicitAny: `this` and the event are those of the attribute that holds the handler
export type EventHandler = ((this: any, event: any) => unknown) | null;

/** An event target with handler attributes such as `oncontextoverflow`, which subclasses declare. */
export class HandlerTarget extends EventTarget {
  readonly #handlers = new Map<string, NonNullable<EventHandler>>();

  /** The handler of a type of event. */
  protected handler(type: string): EventHandler {
    return this.#handlers.get(type) ?? null;
  }

  /** Sets the handler of a type of event, in place of the one before. What is no function removes it. */
  protected setHandler(type: string, handler: EventHandler): void {
    if (typeof handler !== "function") {
      this.#handlers.delete(type);
      this.removeEventListener(type, this.#call);
      return;
    }
    this.#handlers.set(type, handler);
    this.addEventListener(type, this.#call);
  }

  readonly #call = (event: Event): void => {
    this.#handlers.get(event.type)?.call(this, event);
  };
}
