import { beforeEach, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createTeamsChannel } from "../../src/vendors/teams/send.ts";
import { destinationBase } from "../support/destinations.ts";
import { sayOutcome } from "../support/say-outcome.ts";
import { sendContext } from "../support/send-context.ts";
import { createTeamsVendor, type TeamsVendor } from "../support/vendors/teams-vendor.ts";

let vendor: TeamsVendor;
beforeEach(async () => {
  vendor = await createTeamsVendor();
  onTestFinished(vendor.close);
});

async function send(body: string, path = vendor.path) {
  const url = new Secret(vendor.origin + path);
  const destination = { ...destinationBase("team"), type: "teams" as const, url, allowInternal: ["127.0.0.1"] };
  const channel = createTeamsChannel(destination, { now: Date.now });
  const outcome = await channel.send({ kind: "teams", text: "", body }, sendContext());
  await channel.close();
  return outcome;
}

function message(body: object[], changes: object = {}): string {
  const content = { type: "AdaptiveCard", version: "1.2", body };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return JSON.stringify({ type: "message", summary: "s", attachments: [attachment], ...changes });
}
const says = (text: string) => [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text }] }];

it.each([
  ["a card that is too long", message(says("x".repeat(28_672))), "MessageSizeExceeded"],
  ["a card of an element that Teams does not know", message([{ type: "Fireworks" }]), "unknown element Fireworks"],
  ["a card without elements", message([]), "AdaptiveCard.body is empty"],
  ["a message without a card", message(says("x"), { attachments: [] }), "attachments must be one card"],
  ["what is no JSON", "{", "no JSON"],
])("takes the refusal of %s for the message's fault, and says why", async (_what, body, why) => {
  const outcome = await send(body);
  expect(outcome).toMatchObject({ kind: "rejected", scope: "message", detail: expect.stringContaining(why) });
  expect(vendor.seen).toEqual([]);
});

it("takes an address of another signature, or of a workflow that is gone, for the destination's fault", async () => {
  const card = message(says("x"));
  expect(await send(card)).toEqual({ kind: "sent" });
  const otherSignature = vendor.path.replace("canaryTeams", "canaryOther");
  const refused = await send(card, otherSignature);
  const gone = await send(card, vendor.path.replace("canaryWorkflow0", "canaryWorkflow1"));
  expect([refused, gone].map(sayOutcome)).toEqual(["rejected destination auth_failed", "rejected destination gone"]);
  expect(JSON.stringify([refused, gone])).not.toContain("canary");
});
