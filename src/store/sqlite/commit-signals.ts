import { emitNotes, newNotes, type Notes, type SignalHub } from "../signals.ts";
import type { Call, Commit } from "./group-commit.ts";
import type { TransactionName, Transactions } from "./transactions/index.ts";

type Table = {
  [N in TransactionName]?: (said: Notes, args: Parameters<Transactions[N]>, value: ReturnType<Transactions[N]>) => void;
};

/**
 * Which transaction emits what once it is on disk, but for those that both databases share, which say it themselves. `changed` is not of one
 * transaction: a commit emits it whenever it gave an alert a new version.
 */
const table: Table = {
  acceptRequest(said, _, { kind }) {
    said.accepted ||= kind === "accepted";
  },
  // What was claimed in the same step is due no more; whoever asked for the claim looks whether it was made.
  recordRouting: (said, [records]) =>
    noteDue(said, ...records.map(({ deliveries, claims }) => deliveries.filter((_, index) => !claims?.[index]))),
  recordNotice: (said, [{ deliveries }]) => noteDue(said, deliveries),
};

function noteDue({ due }: Notes, ...lists: { destination: string }[][]): void {
  for (const { destination } of lists.flat()) due.add(destination);
}

/** Emits once for each topic that one commit, of however many calls, has something to say of. */
export function createCommitSignals(hub: SignalHub): (calls: readonly Call[], commit: Commit) => void {
  let lastVersion = 0;
  return (calls, { results, version, notes: said = newNotes() }) => {
    calls.forEach((call, index) => {
      const note = table[call.name] as ((said: Notes, args: unknown[], value: unknown) => void) | undefined;
      const result = results[index];
      if (note !== undefined && result?.ok) note(said, call.arguments, result.value);
    });
    said.changed ||= version > lastVersion;
    emitNotes(hub, said);
    lastVersion = Math.max(lastVersion, version);
  };
}
