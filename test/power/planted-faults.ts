import type { Recording } from "./replay.ts";

/** A recording as a relay with a defect would have left it. */
export interface PlantedFault {
  name: string;
  /** `undefined`: the recording has nothing that could be left out. */
  plant(recording: Recording): Recording | undefined;
}

/** Each of them has to be found: a replay that misses one proves nothing. */
export const plantedFaults: PlantedFault[] = [
  { name: "no sync of the write-ahead log", plant: (recording) => withoutSyncs(recording, /-wal$/) },
  {
    name: "no sync of the database before the log is begun anew",
    plant: (recording) => withoutSyncs(recording, /\.db$/),
  },
  { name: "no sync of folders", plant: (recording) => withoutSyncs(recording, /\/(disk|state|data|secrets)$/) },
  { name: "no sync of secrets", plant: (recording) => withoutSyncs(recording, /\/(webhook-secret|admin-token)\./) },
  {
    name: "calls that leave before their claim is stored",
    plant(recording) {
      const { promises } = recording;
      if (promises.calls.length === 0) return undefined;
      const storedAt = new Map(promises.accepted.flatMap(({ at, ids }) => ids.map((id) => [id, at])));
      const calls = promises.calls.map((call) => {
        const places = call.ids.flatMap((id) => storedAt.get(id) ?? []);
        return places.length === 0 ? call : { ...call, at: Math.min(call.at, Math.max(...places)) };
      });
      return { ...recording, promises: { ...promises, calls } };
    },
  },
];

function withoutSyncs(recording: Recording, path: RegExp): Recording | undefined {
  const calls = recording.calls.filter((call) => call.kind !== "sync" || !path.test(call.path));
  return calls.length === recording.calls.length ? undefined : { ...recording, calls };
}
