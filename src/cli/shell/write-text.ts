import type { TextSink } from "./context.ts";

/** Thrown when nobody reads stdout any more (`tocsin … | head`): the command ends quietly and counts as done. */
export class OutputClosed extends Error {
  constructor() {
    super("nobody reads the output any more");
    this.name = "OutputClosed";
  }
}

/** Hands text over and waits until it was taken, so that a fast writer never outruns a slow reader. */
export function writeText(sink: TextSink, text: string | Uint8Array): Promise<void> {
  if (text.length === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    sink.write(text, (error) => {
      if (!error) resolve();
      else reject(isClosedPipe(error) ? new OutputClosed() : error);
    });
  });
}

export function isClosedPipe(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "EPIPE" || code === "ERR_STREAM_DESTROYED" || code === "ERR_STREAM_WRITE_AFTER_END";
}
