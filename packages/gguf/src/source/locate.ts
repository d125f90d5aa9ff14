import type { GgufInput } from "./byteSource.ts";
import type { Located, LocateOptions } from "./locateOptions.ts";
import { isHttp, placeOf } from "./place.ts";
import { isPlace } from "./source.ts";

/** Returns the files of an input. Downloads them if they are to be stored. @throws {GgufError} as `pull` */
export async function locate(input: GgufInput, options: LocateOptions): Promise<Located> {
  if (!isPlace(input)) return { inputs: [input], warnings: [] };
  const place = placeOf(input);
  if (place.kind === "path") return { inputs: [place.path], warnings: [] };
  const { cache = false } = options;
  if (place.kind === "url" && (cache === false || !isHttp(place.url))) return { inputs: [place.url], warnings: [] };
  const { locateRemote } = await import("../pull/locateRemote.ts");
  return locateRemote(place, options);
}
