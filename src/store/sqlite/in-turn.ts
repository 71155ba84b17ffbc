let last: Promise<void> | undefined;

/** Runs work on this thread's database one after another: no other code may run inside a shared transaction. */
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
