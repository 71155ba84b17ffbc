/** While each turn brings a new connection, one turn in `beforeUrgent` begins urgent work, and one in `beforeAny` any work. */
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
 * Turns of the event loop for work that can wait. In each turn the loop reads from the network once, and accepts only
 * one new connection (libuv since 1.45). Work that fills turns would keep alerts waiting in the kernel. Work therefore
 * begins when a turn has brought no connection, or after many turns with one.
 */
export const turns = {
  /** Called for each accepted connection. */
  noteConnection(): void {
    hasNewConnection = true;
  },
  /** Waits for a turn for one piece of work. One begins in each turn, so long work delays other work by one piece. */
  take: (): Promise<void> => new Promise((resolve) => enqueue(waiting, resolve)),
  /** Begins in the next usable turn, before other work. */
  takeUrgent(begin: () => void): void {
    enqueue(urgent, begin);
  },
};
