import { expect, it, onTestFinished } from "vitest";
import { composeNotifications } from "../../workshop/service/notification.ts";
import { createRelayWorld, opsChat } from "../cli/relay-world.ts";
import { startSandbox } from "../workshop/service-fixture.ts";

it("joins a plain text's repeats and its resolution, and mutes the next one by what the first was", async () => {
  const world = await createRelayWorld();
  const { sandbox } = await startSandbox({ shape: "text" });
  onTestFinished(() => sandbox.close());
  const { metricKey } = sandbox.fire();

  /** The service's text of another alert about the same metric, as the relay has read it. */
  async function send(status: "firing" | "resolved", seen: { value?: number } = {}) {
    const event = sandbox.fire({ metricKey, status, severity: "critical", ...seen });
    const [notification] = composeNotifications("text", [event]);
    const [id = ""] = await world.post(notification?.body, { "content-type": "text/plain" });
    return { event, ...(await world.ended(id)) };
  }
  const shown = () => world.chat.messages(opsChat).map(({ text }) => text);

  const first = await send("firing");
  expect(first.facts).toMatchObject({
    token: first.event.tokenSymbol,
    chain: first.event.chain,
    metric: first.event.metricName,
    value: String(first.event.value),
    threshold: String(first.event.threshold),
    previousValue: String(first.event.previousValue),
    unit: first.event.unit,
  });
  const second = await send("firing");
  expect(second.facts?.value).not.toBe(first.facts?.value);
  expect(second.facts?.alertKey).toBe(first.facts?.alertKey);
  expect(shown().at(-1)).toContain("2nd time since");

  const over = await send("resolved");
  expect(over.facts).toMatchObject({ status: "resolved", alertKey: first.facts?.alertKey });
  // The message that fired says that it is over, whatever else is sent.
  expect(shown()[0]).toContain("✅ Over");

  const mute = ["mutes", "add", "--match", `alertKey=${JSON.stringify(first.facts?.alertKey)}`];
  const tried = await world.run([...mute, "--dry-run", "--json"]);
  expect(tried.json().data).toMatchObject({ matched: 3, looked: 3, complete: true });
  const made = await world.run([...mute, "--for", "1h", "--reason", "known", "--json"]);
  expect(made.json().data.preview).toMatchObject({ matched: 3, looked: 3 });
  expect((await send("firing")).deliveries).toMatchObject([{ state: "muted" }, { state: "muted" }, { state: "muted" }]);
});
