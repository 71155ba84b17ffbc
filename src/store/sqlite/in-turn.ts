let last: Promise<void> | undefined;

/**
 * Runs work on a database of this thread one after another, the first at once. A shared transaction lets other code run while it
 * waits for its statements. That code would run in the middle of the transaction, or lock the thread that has to end it.
 */
export function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last === undefined ? work() : last.then(work);
  const ended = turn.then(
    () => {},
    () => {},
  );
  last = ended;
  void ended.then(() => {
    if (last === ended) last = undefined;
  });
  return turn;
}
