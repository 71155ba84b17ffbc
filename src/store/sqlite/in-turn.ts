let last: Promise<void> | undefined;

/**
 * Runs what works on a database in this thread, one behind the other, and the first at once. What both databases share lets others run
 * while it waits for its statements: they would stand in the middle of its transaction, or lock the thread that has to end it.
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
