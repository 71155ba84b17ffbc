import { describe, expect, it } from "vitest";
import type { Ballast } from "../../src/store/sqlite/ballast.ts";
import type { Call, CallResult } from "../../src/store/sqlite/group-commit.ts";
import { createGuardedCommit } from "../../src/store/sqlite/guarded-commit.ts";
import { toStoreError } from "../../src/store/sqlite/store-error.ts";

/** A disk with room for `room` calls; emptying the log and spending the ballast give some back. */
function setUp(options: { room: number; ballast?: number; inLog?: number }) {
  const state = { room: options.room, spent: false, mayRestore: false, ran: [] as string[] };
  const ballast: Ballast = {
    isSpent: () => state.spent,
    spend() {
      if (state.spent) return false;
      state.spent = true;
      state.room += options.ballast ?? 0;
      return true;
    },
    restore() {
      state.spent = !state.mayRestore;
      return state.mayRestore;
    },
  };
  let inLog = options.inLog ?? 0;
  const { commit } = createGuardedCommit({
    ballast,
    emptyLog() {
      state.room += inLog;
      inLog = 0;
    },
    group: {
      async commit(calls) {
        const results = calls.map((call): CallResult => {
          if (state.room === 0) {
            const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
            return { ok: false, error: toStoreError(full) };
          }
          state.room -= 1;
          state.ran.push(call.name);
          return { ok: true, value: call.name };
        });
        return { results, version: state.ran.length };
      },
    },
  });
  const run = async (...names: Call["name"][]) => {
    const { results } = await commit(names.map((name) => ({ name, arguments: [] })));
    return results.map((result) => (result.ok ? result.value : (result.error as { code: string }).code));
  };
  return { state, run };
}

describe("commits on a full disk", () => {
  it("are left alone while there is room", async () => {
    const { run, state } = setUp({ room: 10 });
    expect(await run("acceptRequest", "recordAttempt")).toEqual(["acceptRequest", "recordAttempt"]);
    expect(state.spent).toBe(false);
  });

  it("spend the ballast when the room ends, refuse new alerts, and make the rest again", async () => {
    const { run, state } = setUp({ room: 1, ballast: 10 });
    expect(await run("recordAttempt", "acceptRequest", "recordAttempt", "indexAlerts", "claimDeliveries")).toEqual([
      "recordAttempt",
      "store_unavailable",
      "recordAttempt",
      0,
      "claimDeliveries",
    ]);
    expect(state.spent).toBe(true);
  });

  it("run no new alert and no indexing until the ballast is back, and everything then", async () => {
    const { run, state } = setUp({ room: 0, ballast: 10 });
    await run("recordAttempt");
    expect(await run("acceptRequest", "indexAlerts", "listDue")).toEqual(["store_unavailable", 0, "listDue"]);
    expect(state.ran).toEqual(["recordAttempt", "listDue"]);
    state.mayRestore = true;
    expect(await run("acceptRequest", "indexAlerts")).toEqual(["acceptRequest", "indexAlerts"]);
  });

  it("try what the log gives back when the ballast is used up too, and are refused after that", async () => {
    const { run } = setUp({ room: 0, ballast: 1, inLog: 1 });
    expect(await run("recordAttempt", "recordAttempt", "recordAttempt")).toEqual([
      "recordAttempt",
      "recordAttempt",
      "store_unavailable",
    ]);
    expect(await run("recordAttempt")).toEqual(["store_unavailable"]);
  });

  it("leave other failures as they are", async () => {
    const { commit } = createGuardedCommit({
      ballast: { isSpent: () => false, spend: () => expect.fail("spent"), restore: () => true },
      emptyLog: () => expect.fail("emptied"),
      group: {
        commit: async (calls) => ({
          results: calls.map(() => ({ ok: false, error: new Error("a bug") })),
          version: 1,
        }),
      },
    });
    const { results } = await commit([{ name: "addMute", arguments: [] }]);
    expect(results).toEqual([{ ok: false, error: new Error("a bug") }]);
  });
});
