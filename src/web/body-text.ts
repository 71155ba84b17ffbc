/** A body as people can read it: its text when the bytes are UTF-8, otherwise the bytes. */
export type ReadableBody = { kind: "text"; text: string } | { kind: "binary" };

/** NUL and the other controls that no text has; white space is fine. */
const binaryControls = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

export function readBody(body: Uint8Array): ReadableBody {
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    return { kind: "binary" };
  }
}

/** Whether text that is valid UTF-8 is better shown as bytes. */
export function looksBinary(text: string): boolean {
  return binaryControls.test(text);
}
