let last: Promise<void> | undefined;

/**
 * Runs work on a database of this thread one after another. Otherwise other code would run in the middle of a shared transaction
 * that waits for its statements.
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
