/** The signed 8-bit integer at byte `at`. */
export function signedAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) >> 24;
}
