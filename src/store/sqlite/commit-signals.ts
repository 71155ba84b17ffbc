import { type Acceptance, isToBeRouted } from "../../core/ports/inbox.ts";
import { emitNotes, newNotes, type SignalHub } from "../signals.ts";
import type { Call, Commit } from "./group-commit.ts";

/** Emits each topic of a commit once: the notes of its transactions, `accepted`, and `changed` (a new version). */
export function createCommitSignals(hub: SignalHub): (calls: readonly Call[], commit: Commit) => void {
  let lastVersion = 0;
  return (calls, { results, version, notes: said = newNotes() }) => {
    said.accepted ||= calls.some(({ name }, index) => {
      const result = results[index];
      return name === "acceptRequest" && result?.ok && isToBeRouted(result.value as Acceptance);
    });
    said.changed ||= version > lastVersion;
    emitNotes(hub, said);
    lastVersion = Math.max(lastVersion, version);
  };
}
