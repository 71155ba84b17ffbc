import { expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createAlertingClient } from "../../src/upstream/alerting-client.ts";
import { type Look, readLook, toLook } from "../../src/watch/judge-account.ts";
import { type FakeAnswer, startFakeService } from "../upstream/fake-service.ts";

/** An answer that comes is waited for on however busy a machine. */
const limitMs = (answer: FakeAnswer) => (answer === "hang" ? 200 : 240_000);

/** What one look makes of an answer, over the real client. */
async function lookAt(answer: FakeAnswer): Promise<Look> {
  const { url } = await startFakeService(() => answer);
  const apiKey = new Secret("key-canary-5d21");
  const client = createAlertingClient({ url, apiKey, retry: { attempts: 1 }, timeoutMs: limitMs(answer) });
  const look = await client.lookAtAccount().then(readLook, toLook);
  expect(JSON.stringify(look)).not.toContain(apiKey.reveal());
  return look;
}

const html = { text: "<!doctype html><title>Sign in</title>", headers: { "content-type": "text/html" } };

it.each<[string, FakeAnswer, Look["kind"]]>([
  ["a page in place of JSON", { ...html, status: 200 }, "unclear"],
  ["nothing", { text: "" }, "unclear"],
  ["a list", { json: [] }, "unclear"],
  ["no data", { json: { message: "authorized" } }, "unclear"],
  ["data that is a text", { json: { data: "authorized" } }, "unclear"],
  ["an empty account", { json: { data: {} } }, "unclear"],
  ["401", { status: 401, json: { message: "key-canary-5d21 is not valid" } }, "refused"],
  ["403", { status: 403, text: "no" }, "refused"],
  ["429", { status: 429, text: "no" }, "unclear"],
  ["500", { status: 500, text: "no" }, "gone"],
  ["no answer at all", "hang", "gone"],
])("what a look makes of an answer %s", async (_what, answer, kind) => {
  expect((await lookAt(answer)).kind).toBe(kind);
});

it.each<[string, unknown, object]>([
  ["no outputs", undefined, {}],
  ["null", null, { webhookUrl: null, messengerChannelId: null }],
  ["members that are missing", {}, {}],
  ["members of other types", { webhookUrl: 7, messengerChannelId: ["-1"] }, {}],
  [
    "outputs that are off",
    { webhookUrl: null, messengerChannelId: "" },
    { webhookUrl: null, messengerChannelId: null },
  ],
  ["a text", "https://other.example", {}],
])(
  "what a look makes of an answer reads of outputs what they say and nothing else: %s",
  async (_what, alertOutputs, read) => {
    const look = await lookAt({ json: { data: { id: 12, accountName: ["x"], alertOutputs } } });
    expect(look).toMatchObject({ kind: "answer", reading: { id: "12" } });
    const { webhookUrl, messengerChannelId } = look.kind === "answer" ? look.reading : {};
    expect(JSON.stringify({ webhookUrl, messengerChannelId })).toBe(JSON.stringify(read));
  },
);

const at = Date.UTC(2027, 1, 3, 4, 5, 6);
it.each<[unknown, number | undefined]>([
  [at / 1000, at],
  [at, at],
  [String(at / 1000), at],
  [String(at), at],
  ["2027-02-03T04:05:06Z", at],
  ["2027-02-03 05:05:06.000+01:00", at],
  ["2027-02-03T04:05:06", at],
  ["2027-02-03", Date.UTC(2027, 1, 3)],
  ["never", undefined],
  // Node takes these for dates.
  ["never 1", undefined],
  ["none until 2099", undefined],
  ["valid 12", undefined],
  [" ", undefined],
  ["", undefined],
  [null, undefined],
  [{ at }, undefined],
  [true, undefined],
  ["1e400", undefined],
  [1e30, undefined],
])("what a look makes of an answer reads %j as the end of the key", async (apiKeyExpirationTimestamp, expected) => {
  const look = await lookAt({ json: { data: { id: "a", apiKeyExpirationTimestamp } } });
  expect(look.kind === "answer" && look.reading.keyExpiresAt).toBe(expected);
});
