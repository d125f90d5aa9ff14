import { UnsupportedError } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";

/**
 * Whether the file divides the rotated pairs among the axes of pictures, as models that see them do. A text's tokens have one position on all axes.
 * @throws {UnsupportedError} if it leaves pairs to the fourth axis, on which a text has no position
 */
export function hasRopeSections(file: MetadataReader, dims: number): boolean {
  const key = file.key("rope.dimension_sections");
  const [time = 0, height = 0, width = 0, extra = 0] = file.metadata.optionalNumbers(key) ?? [];
  if (time === 0 || height === 0) return false;
  const positioned = time + height + width;
  if (extra > 0 && dims / 2 > positioned)
    throw new UnsupportedError(
      `${key} = [${[time, height, width, extra].join(", ")}]`,
      `pairs from the ${positioned}th on would not be rotated`,
    );
  return true;
}

/** The same for families whose files all have sections. @throws {ModelError | UnsupportedError} */
export function requireRopeSections(file: MetadataReader): void {
  const dims = file.size("rope.dimension_count") ?? file.size("attention.key_length") ?? 0;
  if (hasRopeSections(file, dims)) return;
  throw new ModelError(
    `metadata: expected ${file.key("rope.dimension_sections")} to name sections of time and height; convert the model again`,
  );
}
