import { describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { NtfyMessage } from "../../src/vendors/ntfy/render.ts";
import { createNtfyChannel } from "../../src/vendors/ntfy/send.ts";
import { createSlackChannel } from "../../src/vendors/slack/send.ts";
import { type AppsStandIn, createAppsStandIn } from "../../workshop/apps/apps-stand-in.ts";
import { destinationBase } from "../support/destinations.ts";
import { sendContext } from "../support/send-context.ts";

const at = Date.UTC(2026, 10, 22, 12, 0, 30);
const allowInternal = ["127.0.0.1"];

async function open(options: { limited?: boolean; now?: () => number } = {}): Promise<AppsStandIn> {
  const apps = await createAppsStandIn({ now: () => at, limited: false, ...options });
  onTestFinished(() => apps.close());
  return apps;
}

const post = async (url: string, body: unknown, method = "POST") => {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method, headers, body: typeof body === "string" ? body : JSON.stringify(body) });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
};

const text = (words: string) => ({ type: "text", text: words });
const section = (...elements: unknown[]) => ({
  type: "rich_text",
  elements: [{ type: "rich_text_section", elements }],
});
const v10 = (apps: AppsStandIn) => apps.discordUrl.replace("/api/", "/api/v10/");

describe("Slack", () => {
  it.each([
    ["nothing to say", {}, "no_text"],
    ["no JSON", "{", "invalid_payload"],
    ["a list", "[]", "invalid_payload"],
    ["an unknown block", { text: "a", blocks: [{ type: "chart" }] }, "invalid_blocks"],
    ["a field that a block has not", { blocks: [{ ...section(text("a")), color: "#f00" }] }, "invalid_blocks"],
    ["an empty text", { blocks: [section(text(""))] }, "invalid_blocks"],
    ["an image without words", { blocks: [{ type: "image", image_url: "https://a.example/b.png" }] }, "invalid_blocks"],
    ["51 blocks", { text: "a", blocks: Array.from({ length: 51 }, () => section(text("a"))) }, "invalid_blocks"],
    ["a text over 40,000", { text: "a".repeat(40_001) }, "msg_too_long"],
  ])("refuses %s", async (_what, body, word) => {
    const apps = await open();
    expect(await post(apps.slackUrl, body)).toMatchObject({ status: 400, text: word });
    expect(apps.messages("slack")).toEqual([]);
    expect(apps.calls()).toMatchObject([{ app: "slack", at, method: "message", status: 400, description: word }]);
  });

  it("knows no other webhook", async () => {
    const apps = await open();
    expect(await post(`${apps.slackUrl}X`, { text: "a" })).toMatchObject({ status: 404, text: "no_service" });
  });
});

describe("Discord", () => {
  it.each([
    ["nothing", {}, 50006, undefined],
    ["no JSON", "{", 50109, undefined],
    ["content over 2,000", { content: "a".repeat(2_001) }, 50035, "content"],
    ["a description over 4,096", { embeds: [{ description: "a".repeat(4_097) }] }, 50035, "embeds"],
    [
      "embeds over 6,000 in all",
      { embeds: [4_000, 2_001].map((n) => ({ description: "a".repeat(n) })) },
      50035,
      "embeds",
    ],
    ["a colour that is none", { content: "a", embeds: [{ color: 0x1000000 }] }, 50035, "embeds"],
    ["a picture that was not sent along", { embeds: [{ image: { url: "attachment://a.png" } }] }, 50035, "embeds"],
  ])("refuses %s", async (_what, body, code, field) => {
    const apps = await open();
    const answer = await post(v10(apps), body);
    expect(answer.status).toBe(400);
    const said = JSON.parse(answer.text) as { code: number; errors?: object };
    expect([said.code, Object.keys(said.errors ?? {})[0]]).toEqual([code, field]);
    expect(apps.messages("discord")).toEqual([]);
  });

  it("takes no other version, token or message", async () => {
    const apps = await open();
    expect(await post(apps.discordUrl, { content: "a" })).toMatchObject({ status: 404 });
    expect(await post(`${v10(apps)}X`, { content: "a" })).toMatchObject({ status: 404 });
    expect((await post(`${v10(apps)}/messages/1`, { content: "a" }, "PATCH")).text).toContain("10008");
  });
});

describe("ntfy", () => {
  it.each([
    ["no JSON", "{", 400, 40024],
    ["another topic", { topic: "others" }, 403, 40301],
    ["a topic with a slash", { topic: "a/b" }, 400, 40009],
    ["priority 6", { topic: "stand-in-topic", priority: 6 }, 400, 40007],
    ["an attachment that is no address", { topic: "stand-in-topic", attach: "a.png" }, 400, 40013],
    ["a message over 4,096 bytes", { topic: "stand-in-topic", message: "é".repeat(2_049) }, 413, 41301],
  ])("refuses %s", async (_what, body, status, code) => {
    const apps = await open();
    const answer = await post(apps.ntfyServer, body);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([status, code]);
    expect(apps.messages("ntfy")).toEqual([]);
  });

  it("replaces a message of the same sequence", async () => {
    const apps = await open();
    const channel = createNtfyChannel(
      { ...destinationBase("d"), type: "ntfy", server: apps.ntfyServer, topic: apps.ntfyTopic, allowInternal },
      { now: () => at },
    );
    onTestFinished(() => channel.close());
    const message = (title: string): NtfyMessage => ({
      kind: "ntfy",
      title,
      text: "24.3 M USD",
      priority: 5,
      tags: ["rotating_light", "eth"],
      click: "https://tocsin.example/alerts/1",
    });
    const sent = await channel.send(message("TVL fell"), sendContext());
    if (sent.kind !== "sent" || sent.ref === undefined) throw new Error("not sent");
    await channel.edit?.(sent.ref, message("TVL is back"), sendContext());
    expect(apps.messages("ntfy")).toMatchObject([
      { content: { title: "TVL is back", sequenceId: sent.ref }, edits: [{ content: { title: "TVL fell" } }] },
    ]);
    expect(await channel.probe?.("d", new AbortController().signal)).toMatchObject({ kind: "sent" });
  });
});

describe("all three", () => {
  const slackOf = (apps: AppsStandIn) => {
    const channel = createSlackChannel(
      { ...destinationBase("d"), type: "slack", url: new Secret(apps.slackUrl), allowInternal },
      { now: () => at },
    );
    onTestFinished(() => channel.close());
    return () => channel.send({ kind: "slack", text: "a", body: '{"text":"a"}' }, sendContext());
  };

  it("ask to wait when more comes than the vendors take, and take it after that", async () => {
    let now = at;
    const apps = await open({ limited: true, now: () => now });
    const send = slackOf(apps);
    for (let sent = 0; sent < 5; sent += 1) expect(await send()).toMatchObject({ kind: "sent" });
    const asked = await post(apps.slackUrl, { text: "a" });
    expect([asked.status, asked.headers.get("retry-after")]).toEqual([429, "3"]);
    now += 3_000;
    expect(await send()).toMatchObject({ kind: "sent" });
  });

  it("break the next message as asked, with the message or without", async () => {
    const apps = await open();
    const send = slackOf(apps);
    const kinds = ["reset", "error_500", "bad_gateway", "flood", "gone"] as const;
    for (const kind of kinds) apps.faults.next({ kind, app: "slack", delivered: kind === "reset" });
    expect(await send()).toMatchObject({ kind: "ambiguous" });
    expect(apps.messages("slack")).toHaveLength(1);
    expect(await send()).not.toMatchObject({ kind: "sent" });
    expect(await send()).not.toMatchObject({ kind: "sent" });
    expect(await send()).toMatchObject({ kind: "retry", waitMs: 5_000 });
    expect(await send()).toMatchObject({ kind: "rejected", scope: "destination", reason: "gone" });
    expect(apps.messages("slack")).toHaveLength(1);
    expect(await send()).toMatchObject({ kind: "sent" });
  });
});
