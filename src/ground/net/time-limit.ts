type TimeLimit = ReturnType<typeof startTimeLimit>;

/**
 * A signal that aborts with `outer` and its reason, or after a time with a `TimeoutError`, whichever is first.
 *
 * `AbortSignal.timeout` is not used: inside `AbortSignal.any` Node 20 lets it be collected, and then it never fires.
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
    /** Whether the time limit aborted the signal, and not the caller. */
    timedOut: () => timedOut,
    /** Starts the time anew. */
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

/** Runs with a signal that aborts after `timeoutMs` or with `outer`. Leaves no timer or listener behind. */
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

/** The abort reason when something took too long. `isTimeout` recognises it. */
export function createTimeoutError(): Error {
  return new DOMException("no answer in time", "TimeoutError");
}

/** Whether a signal's reason, or a thrown error, comes from a time limit. */
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
