/**
 * Lets one waiting piece of work begin in each turn of the event loop, first come first. What came over the network is
 * read between two of them, so work of many pieces delays nothing by more than one piece.
 */
export function createTurns(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  function next(): void {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(next);
    });
}
