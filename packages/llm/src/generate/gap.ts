import { ArgumentError } from "@centella/core";
import { checkKeys, describe, isRecord } from "@centella/quant/checks";
import { TokenizerError } from "../errors.ts";
import type { EncodeAsyncOptions, Tokenizer } from "../tokenizer/tokenizer.ts";
import type { Gap, GapFile } from "./promptInput.ts";

/** Names of the repository and of the file with the gap, which prompts do not have. llama.cpp's server writes the same ones. */
const [repositoryName, fileName] = ["myproject", "filename"];

/**
 * Encodes a gap as prefix, suffix, middle, after the files, as llama.cpp's server does.
 * @throws {TokenizerError} if the vocabulary has no tokens for gaps
 */
export async function encodeGap(
  tokenizer: Tokenizer,
  { prefix, suffix, files }: Gap,
  encoding: Pick<EncodeAsyncOptions, "maxTokens" | "signal">,
): Promise<readonly number[]> {
  const { prefixId, suffixId, middleId } = tokenizer.fillInMiddle;
  if (prefixId === undefined || suffixId === undefined || middleId === undefined) {
    throw new TokenizerError(
      "prompt: expected a vocabulary with tokens for prefix, suffix and middle, got none; this model was not trained to fill gaps",
    );
  }
  // Special tokens in the text are text.
  const pieces = [...filePieces(tokenizer, checkedFiles(files)), prefixId, prefix, suffixId, suffix, middleId];
  const ids: number[] = tokenizer.addBos && tokenizer.bosId !== undefined ? [tokenizer.bosId] : [];
  for (const piece of pieces) {
    if (typeof piece === "number") ids.push(piece);
    else for (const id of await tokenizer.encodeAsync(piece, { addSpecial: false, parseSpecial: [], ...encoding })) ids.push(id);
  }
  return ids;
}

/** Tokens and texts of the files, up to the name of the file with the gap. A vocabulary without a token for files gets plain text. */
function filePieces(
  { fillInMiddle: { repositoryId, fileId } }: Tokenizer,
  files: readonly GapFile[] | undefined,
): readonly (number | string)[] {
  if (files === undefined) return [];
  if (fileId === undefined) return files.map(({ name, text }) => `\n\n--- ${name} ---\n\n${text}`);
  return [
    ...(repositoryId === undefined ? [] : [repositoryId, `${repositoryName}\n`]),
    ...files.flatMap(({ name, text }) => [fileId, `${name}\n`, text]),
    ...[fileId, `${fileName}\n`],
  ];
}

/** @throws {ArgumentError} */
function checkedFiles(files: Gap["files"]): Gap["files"] {
  if (files === undefined) return undefined;
  if (!Array.isArray(files)) throw new ArgumentError("prompt.files", "a list of files { name, text }", describe(files));
  for (const [i, file] of files.entries()) {
    if (!isRecord(file) || typeof file.name !== "string" || typeof file.text !== "string")
      throw new ArgumentError(`prompt.files[${i}]`, "a file { name, text }", describe(file));
    checkKeys(`prompt.files[${i}]`, file, ["name", "text"]);
  }
  return files;
}
