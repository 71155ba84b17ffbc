import { type MessagePort, parentPort } from "node:worker_threads";
import { AppError } from "../../core/errors.ts";
import { inTurn } from "./in-turn.ts";

/** The methods of a thread. Others call them by name, one after another, and `close` ends the thread. */
export interface Serving {
  close(): unknown;
  /** Called after each answer. */
  answered?(): void;
}

export type FromThread =
  | { kind: "ready" }
  | { kind: "not_opened"; error: WireError }
  | { kind: "answer"; id: number; answer: unknown }
  | { kind: "failure"; id: number; error: WireError };

/** Structured cloning would drop an error's class and fields. */
export type WireError = Pick<Error, "message" | "stack"> & Partial<Pick<AppError, "code" | "hint" | "retryAfterMs">>;

/** Runs in the entry of a thread. The first message says what to open. */
export function serve<Data>(open: (data: Data) => Serving): void {
  const port = parentPort;
  if (!port) throw new Error("this file is the entry of a thread");
  port.once("message", (data: Data) => answerCalls(port, () => open(data)));
}

function answerCalls(port: MessagePort, open: () => Serving): void {
  const say = (message: FromThread) => port.postMessage(message);
  let serving: Serving;
  try {
    serving = open();
  } catch (error) {
    say({ kind: "not_opened", error: toWireError(error) });
    port.close();
    return;
  }
  const methods = serving as unknown as Record<string, (...given: unknown[]) => unknown>;
  port.on("message", ({ id, method, given }: { id: number; method: string; given: unknown[] }) =>
    inTurn(async () => {
      try {
        say({ kind: "answer", id, answer: await methods[method]?.(...given) });
      } catch (error) {
        say({ kind: "failure", id, error: toWireError(error) });
      }
      if (method === "close") port.close();
      else serving.answered?.();
    }),
  );
  say({ kind: "ready" });
}

export function toWireError(error: unknown): WireError {
  if (error instanceof AppError) {
    return { code: error.code, message: error.message, hint: error.hint, retryAfterMs: error.retryAfterMs };
  }
  if (error instanceof Error) return { message: error.message, stack: error.stack };
  return { message: String(error) };
}

export function fromWireError(wire: WireError): Error {
  if (wire.code !== undefined) {
    return new AppError(wire.code, wire.message, { hint: wire.hint, retryAfterMs: wire.retryAfterMs });
  }
  const error = new Error(wire.message);
  if (wire.stack !== undefined) error.stack = wire.stack;
  return error;
}
