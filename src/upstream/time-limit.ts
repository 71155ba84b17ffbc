/** `timedOut` tells the limit from an end that the caller asked for. */
export interface TimeLimit {
  signal: AbortSignal;
  timedOut(): boolean;
}

/** Runs with a signal that aborts after `timeoutMs` or with `outer`, whichever comes first; leaves no timer and no listener behind. */
export async function withTimeLimit<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  run: (limit: TimeLimit) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, timeoutMs);
  const forward = () => controller.abort(outer?.reason);
  outer?.addEventListener("abort", forward, { once: true });
  if (outer?.aborted) forward();
  try {
    return await run({ signal: controller.signal, timedOut: () => timedOut });
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", forward);
  }
}
