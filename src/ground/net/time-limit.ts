type TimeLimit = ReturnType<typeof startTimeLimit>;

/**
 * A signal that ends with `outer` and for its reason, or after a time with a `TimeoutError`, whichever is first.
 *
 * Not `AbortSignal.timeout`: inside `AbortSignal.any` Node 20 lets it be collected, and then it never fires.
 */
export function startTimeLimit(timeoutMs: number, outer?: AbortSignal) {
  const controller = new AbortController();
  const { signal } = controller;
  let timedOut = false;
  const end = () => {
    if (signal.aborted) return;
    timedOut = true;
    controller.abort(createTimeoutError());
  };
  const forward = () => controller.abort(outer?.reason);
  let timer = setTimeout(end, timeoutMs);
  outer?.addEventListener("abort", forward, { once: true });
  if (outer?.aborted) forward();
  return {
    signal,
    /** Whether the limit ended it, and not the caller. */
    timedOut: () => timedOut,
    /** The time begins anew. */
    restart(): void {
      clearTimeout(timer);
      timer = setTimeout(end, timeoutMs);
    },
    /** Must be called, or the timer and the listener stay. */
    clear(): void {
      clearTimeout(timer);
      outer?.removeEventListener("abort", forward);
    },
  };
}

/** Runs with a signal that aborts after `timeoutMs` or with `outer`; leaves no timer and no listener behind. */
export async function withTimeLimit<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  run: (limit: TimeLimit) => Promise<T>,
): Promise<T> {
  const limit = startTimeLimit(timeoutMs, outer);
  try {
    return await run(limit);
  } finally {
    limit.clear();
  }
}

/** What a signal is aborted with because something took too long; `isTimeout` knows it again. */
export function createTimeoutError(): Error {
  return new DOMException("no answer in time", "TimeoutError");
}

/** Whether a signal's reason, or what a call threw, is the end of a time limit and no other. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === "TimeoutError";
}

/** Rejects with the reason of the signal, for a race with what may not obey it. Never resolves. */
export function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
