/** While each turn brings a new connection, one turn in this many lets urgent work begin, and one lets any work begin. */
const forConnections = { beforeUrgent: 16, beforeAny: 256 };

const urgent: (() => void)[] = [];
const waiting: (() => void)[] = [];
let isTurning = false;
let hasNewConnection = false;
let turnsForConnections = 0;

function turn(): void {
  turnsForConnections = hasNewConnection ? turnsForConnections + 1 : 0;
  hasNewConnection = false;
  if (turnsForConnections % forConnections.beforeUrgent === 0) for (const begin of urgent.splice(0)) begin();
  if (turnsForConnections % forConnections.beforeAny === 0) waiting.shift()?.();
  isTurning = urgent.length + waiting.length > 0;
  if (isTurning) setImmediate(turn);
}

function enqueue(queue: (() => void)[], begin: () => void): void {
  queue.push(begin);
  if (isTurning) return;
  isTurning = true;
  setImmediate(turn);
}

/**
 * What waits for a turn of the event loop; a process has one loop. The loop reads what came over the network once in a turn and
 * accepts one new connection (libuv since 1.45), however many wait: work that fills a turn keeps an alert waiting in the kernel
 * behind all other connections. Work therefore waits until a turn has brought none, or many have brought one each.
 */
export const turns = {
  /** To be called for each connection that is accepted: the kernel may have another. */
  noteConnection(): void {
    hasNewConnection = true;
  },
  /**
   * For a piece of work. One begins in each turn, first come first: work of many pieces delays nothing by more than one
   * piece.
   */
  take: (): Promise<void> => new Promise((resolve) => enqueue(waiting, resolve)),
  /** In the next turn that may be used, before any piece of work. */
  takeUrgent(begin: () => void): void {
    enqueue(urgent, begin);
  },
};
