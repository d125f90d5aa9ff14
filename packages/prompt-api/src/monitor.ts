import { type EventHandler, HandlerTarget } from "./handlerTarget.ts";
import type { CreateMonitor } from "./types.ts";

/** Node has no ProgressEvent. */
class OwnProgressEvent extends Event {
  readonly lengthComputable = true;
  readonly loaded: number;
  readonly total: number;

  constructor(type: string, { loaded, total }: { readonly loaded: number; readonly total: number }) {
    super(type);
    this.loaded = loaded;
    this.total = total;
  }
}

class Monitor extends HandlerTarget implements CreateMonitor {
  get ondownloadprogress(): EventHandler {
    return this.handler("downloadprogress");
  }

  set ondownloadprogress(handler: EventHandler) {
    this.setHandler("downloadprogress", handler);
  }
}

/** Fractions are multiples of this, as the specification asks for. */
const steps = 65_536;

/** Reports the progress of a creation: always 0 and 1, and rising values between them. */
export class DownloadProgress {
  readonly #monitor = new Monitor();
  #last = -1;

  /** @throws the error of the callback */
  constructor(callback: ((monitor: CreateMonitor) => void) | undefined) {
    callback?.(this.#monitor);
  }

  /** Reports a fraction of the work, from 0 to 1, unless a greater one was reported. */
  report(fraction: number): void {
    const step = Math.floor(fraction * steps);
    if (!(step > this.#last)) return;
    this.#last = step;
    const Type = globalThis.ProgressEvent ?? OwnProgressEvent;
    this.#monitor.dispatchEvent(new Type("downloadprogress", { lengthComputable: true, loaded: step / steps, total: 1 }));
  }
}
