interface Deadline {
  signal: AbortSignal;
  /** Must be called, or the timer and the listener stay. */
  clear(): void;
}

/** A signal that ends with its parent and for its reason, or with a `TimeoutError` after `timeoutMs`, whichever is first. */
export function startDeadline(parent: AbortSignal, timeoutMs: number): Deadline {
  const controller = new AbortController();
  const stop = () => controller.abort(parent.reason);
  const timer = setTimeout(
    () => controller.abort(new DOMException("no answer in time", "TimeoutError")),
    timeoutMs,
  );
  if (parent.aborted) stop();
  else parent.addEventListener("abort", stop, { once: true });
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
      parent.removeEventListener("abort", stop);
    },
  };
}
