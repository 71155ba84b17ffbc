type TimeLimit = ReturnType<typeof startTimeLimit>;

/**
 * A signal that aborts with `outer`, or after a time with a `TimeoutError`.
 *
 * `AbortSignal.timeout` is not used: inside `AbortSignal.any` Node 20 may collect it, and it then never fires.
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
    /** False where the caller aborted. */
    timedOut: () => timedOut,
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

/** Runs work with the signal of `startTimeLimit`, and clears the limit afterwards. */
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

/** `isTimeout` recognises this abort reason. */
export function createTimeoutError(): Error {
  return new DOMException("no answer in time", "TimeoutError");
}

/** Whether an abort reason, or a thrown error, comes from a time limit. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === "TimeoutError";
}

/** Rejects with the signal's reason and never resolves. For a race with work that may not obey the signal. */
export function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
