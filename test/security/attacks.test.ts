import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { attacks, postOrdinaryAlert } from "../support/attackers.ts";
import { adminToken, startRelayProcess, webhookSecret } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** Only ends a test that has failed. */
const limitMs = 240_000;

/** The short form of `npm run test:long -- attacks`, which also looks at times and memory. */
it("takes ordinary alerts while bodies stall and answers are left unread, from all sides at once", async () => {
  const relay = await startRelayProcess(makeTempFolder(), { LOG_LEVEL: "error" });
  const hookPath = `/hooks/${webhookSecret}`;
  const target = { port: Number(new URL(relay.url).port), hookPath, sourcePath: hookPath, adminToken };
  const end = new AbortController();
  const chosen = ["stalled bodies at the hook", "unread exports", "unread pages of strangers"] as const;
  const ended = Promise.all(chosen.map((name) => attacks[name](target, end.signal)));
  onTestFinished(async () => {
    end.abort();
    await ended;
  });
  const answers = [];
  for (let number = 0; number < 15; number += 1) {
    answers.push(await postOrdinaryAlert(target, number, limitMs));
    // Between two of them the attackers, which are in this process, go on.
    await nextTurn();
  }
  expect(answers.map(({ status }) => status)).toEqual(Array(15).fill(202));
  expect(relay.process.exitCode).toBe(null);
});
