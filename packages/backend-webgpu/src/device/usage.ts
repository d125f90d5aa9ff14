/** `GPUBufferUsage` and `GPUMapMode` of the WebGPU specification: Node has no such globals. */
export const usage = {
  mapRead: 0x0001,
  mapWrite: 0x0002,
  copySource: 0x0004,
  copyTarget: 0x0008,
  uniform: 0x0040,
  storage: 0x0080,
  queryResolve: 0x0200,
} as const;

export const mapRead = 0x0001;
export const mapWrite = 0x0002;
